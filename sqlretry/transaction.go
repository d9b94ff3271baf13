package sqlretry

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"example.com/backoff"
)

// A transaction is a call of Do, with all its attempts.
type transaction struct {
	ctx     context.Context // the caller's
	db      *sql.DB
	options *Options
	f       func(ctx context.Context, tx *sql.Tx) error
	spanner bool // db is Spanner's
}

// attempt runs the transaction once. Its error is marked as permanent unless the transaction is to be repeated.
func (t *transaction) attempt(ctx context.Context) error {
	// database/sql and some drivers end a transaction, its COMMIT included, with the context that it began with. So this
	// one ends with the attempt's time only until the COMMIT, and then with the caller's context.
	whole, cancel := context.WithCancel(t.ctx)
	defer cancel()
	detach := context.AfterFunc(ctx, cancel)

	tx, err := t.begin(ctx, whole)
	if err != nil {
		return t.afterBegin(ctx, err)
	}

	err = t.statements(ctx, tx)
	detach()
	late := t.late(ctx) // now, since the ROLLBACK may be slow
	if err == nil && late == nil {
		return t.commit(tx)
	}
	return t.undo(ctx, tx, err, late)
}

// late returns why the time for the transaction is over, or nil. The answer of detach would be no help: ctx has ended
// before the function that waits for its end runs. And the caller's context may end the transaction before it ends ctx.
func (t *transaction) late(ctx context.Context) error {
	err := ctx.Err()
	if err != nil {
		return err
	}
	return t.ctx.Err()
}

// begin begins the transaction, which ends with the context whole. database/sql rolls back one that begins later.
func (t *transaction) begin(ctx, whole context.Context) (*sql.Tx, error) {
	var tx *sql.Tx
	_, err := inTime(ctx, func() (err error) {
		tx, err = t.db.BeginTx(whole, t.options.Tx)
		return err
	})
	if err != nil {
		return nil, err // without tx, which a late BEGIN may still set
	}
	return tx, nil
}

// statements calls f. If f does not return, because it panics, the transaction is rolled back.
func (t *transaction) statements(ctx context.Context, tx *sql.Tx) error {
	returned := false
	defer func() {
		if !returned {
			_ = rollback(ctx, tx)
		}
	}()

	err := t.f(ctx, tx)
	returned = true
	return err
}

// commit commits tx. The end of the attempt's time does not end the COMMIT: it would not be repeated, and nobody would
// know whether it took effect.
func (t *transaction) commit(tx *sql.Tx) error {
	answered, err := inTime(t.ctx, tx.Commit)
	if err != nil {
		return t.afterCommit(answered, err)
	}
	return nil
}

// undo rolls tx back after f has returned err, or its context has ended with late, or both.
func (t *transaction) undo(ctx context.Context, tx *sql.Tx, err, late error) error {
	rollbackErr := rollback(ctx, tx)
	if late != nil {
		err = tooLong(err, late)
	}
	switch {
	case errors.As(rollbackErr, new(*driverPanic)):
		return afterPanic(err, rollbackErr)
	case late != nil:
		return err
	}
	return t.afterStatements(err, rollbackErr)
}

// rollback rolls tx back, and returns the error of the ROLLBACK.
func rollback(ctx context.Context, tx *sql.Tx) error {
	_, err := inTime(ctx, tx.Rollback)
	return err
}

// tooLong returns the error of an attempt whose context ended before its COMMIT. It is not marked: the loop repeats
// the attempt, unless the caller's context has ended as well, or f has marked its error. Since the transaction's own
// context is cancelled when the attempt's time is over, an error may say so in place of late.
func tooLong(err, late error) error {
	switch {
	case err == nil, err == context.Canceled:
		return late
	case errors.Is(err, context.Canceled) && !errors.Is(err, late) && !permanent(err):
		return &timeoutError{late, err}
	}
	return err
}

// A timeoutError is the error of an attempt whose time was over. It matches late, and what err matches, but for
// context.Canceled: that is the transaction's own context, and the caller has cancelled nothing.
type timeoutError struct{ late, err error }

func (e *timeoutError) Error() string { return e.late.Error() + ": " + e.err.Error() }

func (e *timeoutError) Unwrap() error { return e.late }

func (e *timeoutError) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.err, target)
}

func (e *timeoutError) As(target any) bool { return errors.As(e.err, target) }

// afterBegin decides what follows a BEGIN that failed with err, which is the database's or the driver's.
func (t *transaction) afterBegin(ctx context.Context, err error) error {
	if errors.As(err, new(*driverPanic)) {
		return backoff.Permanent(err)
	}
	late := t.late(ctx)
	if late != nil {
		return tooLong(err, late)
	}

	says := classify(err, t.spanner)
	if says == full || says < lost && broken(err) {
		err = &stepError{"BEGIN", err, lost}
		says = lost
	}
	return t.decide(err, says.repeats())
}

// afterPanic returns err and the driver's panic in the ROLLBACK after it. The attempt is not repeated: its connection is
// lost to the pool, and the next one would be too.
func afterPanic(err, rollback error) error {
	return backoff.Permanent(errors.Join(err, fmt.Errorf("ROLLBACK: %w", rollback)))
}

// afterStatements decides what follows an error of f, and of the ROLLBACK after it.
func (t *transaction) afterStatements(err, rollback error) error {
	says := classify(err, t.spanner)
	badConn := errors.Is(err, driver.ErrBadConn)
	switch {
	case says == conflict:
		return t.decide(err, true)
	case says == busy:
		return t.decide(&stepError{"rows of an earlier query are open", err, busy}, false)
	case errors.Is(rollback, sql.ErrTxDone): // f has ended the transaction itself
		return t.decide(err, false)
	case (rollback == nil || connBusy(rollback)) && badConn: // pgx
		return t.decide(&stepError{"the connection is there; rows of an earlier query may be open", err, busy}, false)
	case rollback == nil, connBusy(rollback):
		return t.decide(err, false)
	case badConn && hasText(rollback, invalidConn): // go-sql-driver/mysql says the same of both
		return t.decide(&stepError{"connection lost, or rows of an earlier query are open", err, lost}, true)
	case says != lost && endOfConnection(err, rollback):
		return t.decide(&stepError{"connection lost", err, lost}, true)
	}
	return t.decide(err, says == lost)
}

// afterCommit decides what follows a COMMIT that failed with err, or that the driver has not answered.
func (t *transaction) afterCommit(answered bool, err error) error {
	says := classify(err, t.spanner)
	if says == unrecognised && rolledBack(err) {
		says = failed
	}

	switch {
	case answered && says == conflict:
		return t.decide(&stepError{"COMMIT", err, conflict}, true)
	case answered && says == failed:
		return t.decide(&stepError{"COMMIT", err, failed}, false)
	case answered && (says == unrecognised || says == busy) && !broken(err) && !errors.Is(err, sql.ErrTxDone):
		return t.decide(outcomeUnknown(err), false)
	case t.ctx.Err() != nil:
		return outcomeUnknown(err) // the loop adds why the context ended
	}
	return backoff.Permanent(outcomeUnknown(err))
}

// decide marks err as permanent unless the transaction is to be repeated: by the rule, or by the user's Retryable,
// which is asked in its place.
func (t *transaction) decide(err error, rule bool) error {
	if permanent(err) {
		return err
	}

	repeat := rule
	if t.options.Retryable != nil {
		repeat = t.options.Retryable(err)
	}
	if repeat {
		return err
	}
	return backoff.Permanent(err)
}

// permanent reports whether err is marked as permanent.
func permanent(err error) bool { return errors.As(err, new(*backoff.PermanentError)) }
