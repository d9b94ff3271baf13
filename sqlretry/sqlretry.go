// Package sqlretry runs a database transaction again when the database says that it must be
// repeated, to import or to copy.
//
// That is so after
//   - SQLSTATE 40001 (serialization failure) and 40P01 (deadlock), read by the method
//     SQLState() string that the errors of jackc/pgx and lib/pq have;
//   - SQLite's SQLITE_BUSY and SQLITE_LOCKED, and the extended codes of both, read by the method
//     Code() int and the text that the errors of modernc.org/sqlite have. SQLite wants the whole
//     transaction repeated, too: to repeat one statement of a transaction that has read old data is
//     in vain.
//
// Options.Repeatable names the errors of other drivers, such as MySQL's 1213 (deadlock) and 1205
// (lock wait timeout), whose type has no such method. Any other error is returned immediately.
//
// A transaction is repeated from its beginning, after a rollback. A Commit is special: if it fails
// for another reason than those above, nobody knows whether the transaction took effect. So it is if
// the connection is lost during the Commit, and if the context ends during it. The transaction is not
// repeated then, not even if Options.Repeatable says so. To make it safe to do so yourself, give each
// transaction a unique key that the database checks.
package sqlretry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/backoff"
)

// Options are the settings of [Do]. The zero value is ready to use. If calls of Do that run at the same
// time share its functions, these must be safe for concurrent use.
type Options struct {
	// Tx are the options that each transaction begins with. Nil means the driver's default.
	Tx *sql.TxOptions

	// Policy returns a policy for one call of Do. Nil means full jitter, at first up to 10 ms and at
	// last up to 1 s, for a minute.
	Policy func() backoff.BackOff

	// Repeatable reports whether to repeat a transaction that failed before its Commit with an error
	// that the function [Repeatable] does not know. It may be nil.
	Repeatable func(error) bool

	// Notify, if not nil, is called before the wait for each retry.
	Notify backoff.Notify
}

// Do calls f with a transaction on db and commits the transaction. If f returns an error or panics,
// the transaction is rolled back. If an error of BEGIN, of f or of Commit asks for it, Do repeats the
// whole transaction, f included. When Do gives up, it returns the last attempt's error, unchanged; if ctx
// has ended, the error matches ctx's too, and if a wait would have outlasted ctx's deadline,
// [context.DeadlineExceeded]. If ctx ended after f returned nil, the transaction may have taken effect.
//
// f must return the errors of its statements, wrapped or not, and leave Commit and Rollback to Do.
// It must use tx alone: what it does on db is no part of the transaction, and can wait for it forever.
// It must be fit to run more than once: a rollback undoes what it did to the database, and nothing
// else. To give up, it returns a [backoff.Permanent]. A nil db or f panics.
func Do(ctx context.Context, db *sql.DB, o Options, f func(tx *sql.Tx) error) error {
	var policy backoff.BackOff
	if o.Policy != nil {
		policy = o.Policy()
	} else {
		policy = backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(10*time.Millisecond),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(time.Second),
			backoff.WithMaxElapsedTime(time.Minute),
			backoff.WithJitter(backoff.FullJitter))
	}
	committing := false
	policy = backoff.WithRetryIf(policy, func(err error) bool {
		return Repeatable(err) || !committing && o.Repeatable != nil && o.Repeatable(err)
	})
	return backoff.RetryNotify(func() error {
		committing = false
		tx, err := db.BeginTx(ctx, o.Tx)
		if err != nil {
			return err
		}
		defer tx.Rollback() // also if f panics; without effect after Commit
		if err := f(tx); err != nil {
			return err
		}
		committing = true
		return tx.Commit()
	}, backoff.WithContext(policy, ctx), o.Notify)
}

// Repeatable reports whether err, or an error that it wraps, says that the database has rolled a
// transaction back, or will not go on with it, only because of other transactions.
func Repeatable(err error) bool {
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
		return Repeatable(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), Repeatable)
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
