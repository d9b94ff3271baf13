package sqlretry

import (
	"context"
	"database/sql"
	"errors"

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
	tx, err := t.begin(ctx)
	if err != nil {
		return t.afterBegin(ctx, err)
	}

	err = t.statements(ctx, tx)
	late := ctx.Err() // now, since the ROLLBACK may be slow
	switch {
	case late != nil:
		rollback(ctx, tx)
		return tooLong(err, late)
	case err != nil:
		return t.afterStatements(err, rollback(ctx, tx))
	}

	answered, err := inTime(ctx, tx.Commit)
	if err != nil {
		return t.afterCommit(answered, err)
	}
	return nil
}

// begin begins the transaction. database/sql rolls back one that begins after ctx has ended.
func (t *transaction) begin(ctx context.Context) (*sql.Tx, error) {
	var tx *sql.Tx
	_, err := inTime(ctx, func() (err error) {
		tx, err = t.db.BeginTx(ctx, t.options.Tx)
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

// rollback rolls tx back, and returns the error of the ROLLBACK.
func rollback(ctx context.Context, tx *sql.Tx) error {
	_, err := inTime(ctx, tx.Rollback)
	return err
}

// tooLong returns the error of an attempt whose context ended before its COMMIT. It is not marked: the loop repeats
// the attempt, unless the caller's context has ended as well, or f has marked its error.
func tooLong(err, late error) error {
	if err != nil {
		return err
	}
	return late
}

// afterBegin decides what follows a BEGIN that failed with err, which is the database's or the driver's.
func (t *transaction) afterBegin(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return tooLong(err, nil)
	}

	says := classify(err, t.spanner)
	if says == full || says < lost && broken(err) {
		err = &stepError{"BEGIN", err, lost}
		says = lost
	}
	return t.decide(err, says >= lost)
}

// afterStatements decides what follows an error of f, and of the ROLLBACK after it.
func (t *transaction) afterStatements(err, rollback error) error {
	says := classify(err, t.spanner)
	if says == conflict {
		return t.decide(err, true)
	}

	switch {
	case rollback == nil, inUse(rollback), errors.Is(rollback, sql.ErrTxDone):
		// The connection is there, or f has ended the transaction itself.
		return t.decide(err, false)
	case says != lost && endOfConnection(err, rollback):
		err = &stepError{"connection lost", err, lost}
		says = lost
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
	case answered && says == unrecognised && !broken(err) && !errors.Is(err, sql.ErrTxDone):
		return t.decide(outcomeUnknown(err), false)
	case t.ctx.Err() != nil:
		return outcomeUnknown(err) // the loop adds why the context ended
	}
	return backoff.Permanent(outcomeUnknown(err))
}

// decide marks err as permanent unless the transaction is to be repeated: by the rule, or by the user's Retryable,
// which is asked in its place.
func (t *transaction) decide(err error, rule bool) error {
	if errors.As(err, new(*backoff.PermanentError)) {
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
