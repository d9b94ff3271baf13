// Package sqlretry runs a database transaction again when the database did not carry it out, but would if it
// were repeated.
//
// That is so after
//   - SQLSTATE 40001 (serialization failure) and 40P01 (deadlock), read by the method SQLState() string
//     that the errors of jackc/pgx and lib/pq have;
//   - SQLite's SQLITE_BUSY and SQLITE_LOCKED, and the extended codes of both, read by the method
//     Code() int and the text that the errors of modernc.org/sqlite have;
//   - a connection that could not be made, or that was lost before the COMMIT was sent: what was done on it is
//     undone. (SQLSTATE 57P01 to 57P03 and class 08, [driver.ErrBadConn], errors of the network, and the end of a
//     file if the ROLLBACK fails, too.) If the ROLLBACK succeeds, the connection was not lost;
//   - an attempt that took longer than [Options.AttemptTimeout] before its COMMIT was sent.
//
// Any other error is returned immediately. [Options.Retryable] changes what is repeated, for example for other
// drivers, such as MySQL's 1213 (deadlock) and 1205 (lock wait timeout), whose errors have no such method.
//
// # The commit
//
// If a COMMIT fails with one of the first two kinds of errors, the database has rolled the transaction back, and it
// is repeated. After any other failure of a COMMIT, such as a connection that is lost or a context that ends
// during it, nobody knows whether the transaction took effect. It is not repeated then, whatever Retryable says. To
// make it safe to do so yourself, give each transaction a unique key that the database checks.
package sqlretry

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"example.com/backoff"
)

// defaultAttemptTimeout is what a zero AttemptTimeout means, as in a backoff.Retrier.
const defaultAttemptTimeout = 30 * time.Second

// Options are the settings of [Do]. The zero value is ready to use. The fields that a [backoff.Retrier] also has
// mean the same here. Options are safe for concurrent use if their functions are, as long as the fields do not
// change.
type Options struct {
	// Tx are the options that each transaction begins with. Nil means the driver's default.
	Tx *sql.TxOptions

	// AttemptTimeout limits each attempt, from BEGIN to COMMIT. Zero means 30 s, a negative value no limit.
	AttemptTimeout time.Duration

	// Slots limits the calls of Do in progress, and so the connections that they use. Nil means no limit.
	Slots *backoff.Slots

	// MaxRetries limits the retries of a call. A negative value means none. Zero means as many as Policy
	// allows.
	MaxRetries int

	// Policy returns a new policy for each call of Do. Nil, or a Policy that returns nil, means full jitter, at
	// first up to 10 ms and at last up to 1 s, for a minute.
	Policy func() backoff.BackOff

	// Retryable reports whether to repeat a transaction after err. Nil means the function [Retryable], which it
	// can call, and what the ROLLBACK says of the connection. It is not called if the COMMIT failed and nobody
	// knows whether the transaction took effect.
	Retryable func(err error) bool

	// Budget pays for the retries. Nil means no budget.
	Budget *backoff.Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which
	// counts from 1, its error, and the wait.
	Notify func(ctx context.Context, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each call, with the number of attempts and what Do
	// returns. The number is 0 if the call got no slot or ctx had ended.
	Done func(ctx context.Context, attempts int, err error)
}

// Do calls f with a transaction on db and commits the transaction. If f returns an error or panics, the
// transaction is rolled back. If an error of BEGIN, of f or of COMMIT asks for it, Do repeats the whole
// transaction, f included; see the package comment. When Do gives up, it returns the errors of
// [backoff.Retrier.Do]: the last attempt's, and also ctx's, [context.DeadlineExceeded],
// [backoff.ErrBudgetExhausted] or [backoff.ErrNoSlot] if that is the reason. If ctx ended after f returned nil, the
// transaction may have taken effect.
//
// The context that f receives ends with ctx, after AttemptTimeout, and when the attempt ends. Pass it to the
// statements.
//
// f must return the errors of its statements, wrapped or not, and leave Commit and Rollback to Do. It must use tx
// alone: what it does on db is no part of the transaction, and can wait for it forever. It must be fit to run
// more than once: a rollback undoes what it did to the database, and nothing else. To give up, it returns a
// [backoff.Permanent].
//
// A nil ctx, db or f panics.
func Do(ctx context.Context, db *sql.DB, o Options, f func(ctx context.Context, tx *sql.Tx) error) error {
	switch {
	case db == nil:
		panic("sqlretry: Do called with a nil db")
	case f == nil:
		panic("sqlretry: Do called with a nil f")
	}

	t := transaction{db: db, options: &o, f: f}
	retrier := backoff.Retrier{
		AttemptTimeout: cmp.Or(o.AttemptTimeout, defaultAttemptTimeout),
		Slots:          o.Slots,
		MaxRetries:     cmp.Or(o.MaxRetries, 20),
		Policy:         o.policy,
		Retryable:      t.retryable,
		Budget:         o.Budget,
		Notify:         o.Notify,
		Done:           o.Done,
	}
	return retrier.Do(ctx, t.attempt)
}

func (o *Options) policy() backoff.BackOff {
	if o.Policy != nil {
		if policy := o.Policy(); policy != nil {
			return policy
		}
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(10*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(time.Second),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(backoff.FullJitter),
	)
}

// A transaction is a call of Do, with all its attempts.
type transaction struct {
	db      *sql.DB
	options *Options
	f       func(ctx context.Context, tx *sql.Tx) error

	// Of the last attempt.
	committing bool  // it has begun its COMMIT
	timedOut   bool  // it had no time left
	rolled     bool  // f failed, and then rollback
	rollback   error // is what the ROLLBACK returned
}

// attempt runs the transaction once.
func (t *transaction) attempt(ctx context.Context) error {
	t.committing, t.rolled = false, false
	err := t.run(ctx)
	t.timedOut = ctx.Err() != nil
	return err
}

func (t *transaction) run(ctx context.Context) error {
	tx, err := t.db.BeginTx(ctx, t.options.Tx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // if f panics; without effect after Rollback and Commit

	err = t.f(ctx, tx)
	if err != nil {
		t.rolled, t.rollback = true, tx.Rollback()
		return err
	}
	if err := ctx.Err(); err != nil { // Commit would not be sent, and not say so
		return err
	}
	t.committing = true
	return tx.Commit()
}

// retryable reports whether to repeat the transaction after err. (If the caller's context has ended, the loop ends
// whatever it says.)
func (t *transaction) retryable(err error) bool {
	switch {
	case t.committing && !rolledBack(err):
		return false
	case t.options.Retryable != nil:
		return t.options.Retryable(err)
	}
	return rolledBack(err) || t.connectionLost(err) || t.timedOut
}

// connectionLost reports whether the connection was lost: err may say so, and what the ROLLBACK returned.
func (t *transaction) connectionLost(err error) bool {
	switch {
	case t.rolled && (t.rollback == nil || inUse(t.rollback)):
		return false
	case t.rolled && !errors.Is(t.rollback, sql.ErrTxDone):
		return connectionLost(err) || endOfFile(err)
	}
	return connectionLost(err)
}

// inUse reports whether err is pgx's for a statement on a connection whose rows are still read. That is a mistake of
// the program, and the same the next time. From Exec it is a driver.ErrBadConn.
func inUse(err error) bool { return strings.HasSuffix(err.Error(), "conn busy") }

// endOfFile reports whether err is what pgx returns from a query whose connection is lost. It may also come from
// what else the program reads.
func endOfFile(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// Retryable is the rule that decides whether to repeat a transaction that failed with err before its COMMIT was
// sent. The package comment says what it is. It looks for such an error in all that err wraps. It does not know
// of attempts that took too long, nor what a ROLLBACK returned.
func Retryable(err error) bool { return rolledBack(err) || connectionLost(err) }

// rolledBack reports whether err says that the database has rolled a transaction back, or will not go on with
// it, only because of other transactions.
func rolledBack(err error) bool {
	// 40001 means the same to every database that uses SQLSTATE, and 40P01 is PostgreSQL's own. No
	// application numbers its errors so by chance.
	var state interface{ SQLState() string }
	if errors.As(err, &state) && (state.SQLState() == "40001" || state.SQLState() == "40P01") {
		return true
	}

	var code interface {
		error
		Code() int
	}
	if errors.As(err, &code) && sqliteBusy(code.Code(), code.Error()) {
		return true
	}

	// errors.As stops at the first error with such a method; the database's may be below it.
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return rolledBack(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), rolledBack)
	}
	return false
}

// sqliteBusy reports whether an error with this code and text is SQLite's. A small code alone is no
// evidence: applications and other drivers number their errors, too. SQLite's errors also say so in
// SQLite's own words, with the code in parentheses: "database is locked (5)". An error of another
// driver that has both is one of SQLite.
func sqliteBusy(code int, text string) bool {
	if !strings.Contains(text, fmt.Sprintf("(%d)", code)) {
		return false
	}
	// The exact codes, not the low byte: Oracle's 2053 and 2054 (transaction in doubt) end in 5 and 6.
	switch code {
	case 5, 261, 517, 773: // SQLITE_BUSY, _RECOVERY, _SNAPSHOT, _TIMEOUT
		return strings.Contains(text, "database is locked")
	case 6, 262, 518: // SQLITE_LOCKED, _SHAREDCACHE, _VTAB
		return strings.Contains(text, "database table is locked")
	}
	return false
}

// connectionLost reports whether err says that there is no connection to the database, or no longer.
func connectionLost(err error) bool {
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return false // a wrong name stays wrong
	}
	if errors.Is(err, driver.ErrBadConn) || errors.As(err, new(*net.OpError)) {
		return true
	}

	// pgx's errors of a connection that it finds closed have this method.
	var unsent interface{ SafeToRetry() bool }
	if errors.As(err, &unsent) && unsent.SafeToRetry() {
		return !inUse(err)
	}

	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return false
	}
	switch code := state.SQLState(); code {
	case "57P01", "57P02", "57P03": // the server shuts down, has crashed, or is starting
		return true
	default:
		return strings.HasPrefix(code, "08") && len(code) == 5
	}
}
