// Package sqlretry runs a database transaction, and repeats it after a conflict, a lost connection or a timeout.
//
// It knows the errors of these drivers, without importing any of them:
//   - PostgreSQL's jackc/pgx and lib/pq, also with CockroachDB, YugabyteDB and Aurora DSQL: serialization
//     failures (SQLSTATE 40001) and deadlocks (40P01).
//   - go-sql-driver/mysql, also with MariaDB, TiDB, Galera and Vitess: deadlocks (1213), lock wait timeouts (1205),
//     MariaDB's snapshot conflicts (1020), tables that have changed since the snapshot (1412), TiDB's write conflicts and
//     Group Replication's rollbacks (3101).
//   - SQLite's modernc.org/sqlite, mattn/go-sqlite3 and ncruces/go-sqlite3: SQLITE_BUSY and SQLITE_LOCKED, and their
//     extended codes.
//   - microsoft/go-mssqldb: deadlocks (1205), snapshot conflicts (3960) and the conflicts of memory-optimized tables.
//   - Oracle's sijms/go-ora and godror: deadlocks (ORA-00060) and serialization failures (ORA-08177).
//   - googleapis/go-sql-spanner: Aborted.
//
// It also knows what they say of lost connections, and of servers that start, shut down, are full or move. Of every driver
// it knows [driver.ErrBadConn] and errors of the network. [Options.Retryable] changes what is repeated.
//
// [Options] have the fields of a [backoff.Retrier]. MaxAttempts and Policy have other zero values, since conflicts want many
// short waits. AttemptTimeout does not limit the COMMIT, and a nil Retryable means the rules below.
//
// For a single statement, outside of a transaction, use a Retrier.
//
// # MySQL
//
// With most drivers the pool, [sql.DB.SetMaxOpenConns], limits how much a program asks of the database. With
// go-sql-driver/mysql it does not: a statement that waits for a lock goes on in the server after its context has ended,
// and the pool opens another connection. While a row stays locked, retries fill the server with such statements until it
// refuses other programs. Two settings in the DSN have the server end them after a second, with an error that is
// repeated. Slots make them fewer, also those that wait for something else:
//
//	// user:password@tcp(host)/database?innodb_lock_wait_timeout=1&lock_wait_timeout=1
//	var accounts = sqlretry.Options{Slots: new(backoff.Slots)}
//
// Two lasting faults look like passing ones, and are repeated until no retries are left. MariaDB answers NOWAIT with 1205
// as well: let f wrap that error in a [backoff.Permanent]. A statement larger than the server's max_allowed_packet may end
// like a lost connection: with maxAllowedPacket=0 in the DSN, the driver asks the server for its limit and refuses it.
//
// # What is repeated
//
//   - A transaction that conflicts with others, at every step, the COMMIT included.
//   - A BEGIN that finds no connection, or a server that lets nobody in at the moment.
//   - A connection that is lost before the COMMIT: what was done on it is undone. Lost means that a statement's
//     error says so, and that the ROLLBACK fails, too.
//   - An attempt that takes longer than [Options.AttemptTimeout] before its COMMIT.
//   - A statement of PostgreSQL that was prepared before its table changed ("cached plan must not change result type").
//     The next attempt prepares it again, if it is not a [sql.Stmt] that was prepared outside of f.
//
// Any other error is returned immediately.
//
// # What f must not do
//
//   - Commit, or roll back. MySQL and Oracle commit before and after a statement that changes the schema, such as CREATE,
//     ALTER or TRUNCATE, and a procedure may do so anywhere. The next attempt does again what came before such a statement.
//   - Swallow the error of a statement. Most databases undo that statement alone, and commit the others. After a deadlock
//     MySQL has undone all that came before, and each statement that follows commits by itself.
//   - Return the error of a ROLLBACK TO SAVEPOINT alone. After a deadlock MySQL knows the savepoint no more, and its error
//     1305 hides the deadlock. Return [errors.Join] of it and the statement's error.
//   - Use the pool in place of the transaction. A statement on db is not undone, and can wait for the transaction forever.
//   - Change what a ROLLBACK does not undo: a slice to which it appends, tables without transactions (MyISAM, MEMORY),
//     MySQL's variables and temporary tables. Each attempt changes it again.
//   - Lock the session, by pg_advisory_lock or GET_LOCK. Neither ROLLBACK nor COMMIT unlocks it: the connection keeps the
//     lock in the pool. Take pg_advisory_xact_lock, or lock a row.
//   - Read what can be read only once, such as an [io.Reader] or an [encoding/csv.Reader]. The first attempt drains it,
//     and the next one commits nothing, without an error. Read it before [Do].
//   - Make the key that tells a transaction from another one. Each attempt would have its own; make it before Do.
//   - Leave rows open when another statement begins. Drivers report that like a lost connection. Do returns immediately,
//     with an error that says so, where it can tell. With go-sql-driver/mysql it mostly cannot, and repeats the
//     transaction until no retries are left.
//
// # The COMMIT
//
// If the connection is lost in a COMMIT, or the context of [Do] ends in it, nobody knows whether the transaction took
// effect. It is not repeated then, and the error matches [ErrOutcomeUnknown], which says how to go on. The end of an
// attempt's time leaves a COMMIT alone: to give it up would only make its outcome unknown. So give Do a context with a
// deadline. Without one, a COMMIT that gets no answer lasts until the connection fails.
//
// # Drivers that hang
//
// The methods Commit and Rollback of database/sql have no context, and some drivers wait for the network in them, and
// in a BEGIN, for as long as it takes. [Do] does not: it goes on when its context ends, or the time of the attempt
// in a BEGIN or a ROLLBACK, and leaves the call to a goroutine that ends when the driver returns. Until then the
// connection is not used again, and counts for [sql.DB.SetMaxOpenConns]. A slot of [Options.Slots] is free.
//
// A statement in f, and so Do, ends when its driver heeds the context that f received. lib/pq may not: if the network
// swallows its packets, the statement lasts until the connection fails. mattn/go-sqlite3, and modernc.org/sqlite
// before v1.61.0, do not while they wait for a lock, mattn's for five seconds by default: make their busy timeout shorter
// than AttemptTimeout.
package sqlretry

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"example.com/backoff"
)

// Defaults for the fields of [Options].
const (
	defaultMaxAttempts = 20
	firstWait          = 10 * time.Millisecond
	longestWait        = time.Second
)

// Options are the settings of [Do]. The zero value is ready to use. Options are safe for concurrent use if their
// functions are, as long as the fields do not change.
type Options struct {
	// Tx are the options that each transaction begins with. Nil means the driver's default.
	Tx *sql.TxOptions

	// AttemptTimeout limits each attempt, from its BEGIN until its COMMIT begins. Zero means 30 s, a negative value no
	// limit. A COMMIT ends with the context of Do.
	AttemptTimeout time.Duration

	// Slots limits the calls of Do in progress, and so the connections that they use. Nil means no limit but that of the
	// pool, [sql.DB.SetMaxOpenConns], which is none for MySQL: see the package comment. Do not share it with a Retrier whose
	// op calls Do: one call would hold two slots.
	Slots *backoff.Slots

	// MaxAttempts limits the attempts of a call, even if Policy would go on. Zero means 20, one means no retries, and a
	// negative value no limit.
	MaxAttempts int

	// MaxRetryAfter is the longest wait that f may ask for, by [backoff.RetryAfter] around an error after which the
	// transaction is repeated. If it asks for more, the call ends. Zero means one minute, a negative value no limit.
	MaxRetryAfter time.Duration

	// Policy returns a new policy for each call of Do. Nil, or a Policy that returns nil, means full jitter, at
	// first up to 10 ms, doubling up to 1 s.
	Policy func() backoff.BackOff

	// Retryable reports whether to repeat a transaction after err. Nil means the rules of the package comment. A
	// Retryable of yours can call the function [Retryable] for them. It is not called if the attempt took too long
	// before its COMMIT, which is repeated, nor if the connection or the context of Do ended in the COMMIT, nor if the
	// driver panicked in BEGIN, COMMIT or ROLLBACK, which are not.
	Retryable func(err error) bool

	// Budget limits the retries of all calls that share it. Nil means no limit. Leave it nil where conflicts are an answer
	// of every day: a budget takes them for trouble, and ends most calls with [backoff.ErrBudgetExhausted].
	Budget *backoff.Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which
	// counts from 1, its error, and the wait.
	Notify func(ctx context.Context, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each call, with the number of attempts and what Do
	// returns. The number is 0 if the call got no slot or ctx had ended. Done and Notify must not call Do with the same
	// Options.
	Done func(ctx context.Context, attempts int, err error)
}

// Do calls f with a transaction on db and commits the transaction. If f returns an error or panics, the
// transaction is rolled back. If an error of BEGIN, of f or of COMMIT asks for it, Do repeats the whole
// transaction, f included; see the package comment, which also says what f must not do. When Do gives up, it returns
// the errors of [backoff.Retrier.Do]. If nobody knows whether the transaction took effect, the error matches
// [ErrOutcomeUnknown]; with any other error it did not, unless Retryable has said yes to an ErrOutcomeUnknown before.
//
// The context that f receives ends with ctx, after AttemptTimeout, and when the attempt ends; it is ctx itself if
// AttemptTimeout is negative. Pass it to the statements. An error of f is judged by that context as it was when f returned.
//
// f must return the errors of its statements, wrapped or not, and be fit to run more than once. To give up, it returns
// a [backoff.Permanent].
//
// A panic of f goes on when the transaction is rolled back. A panic of the driver in BEGIN, COMMIT or ROLLBACK is
// returned as an error, and joined to that of f; the attempt is not repeated then, since the pool has lost its
// connection. A ROLLBACK that begins when the attempt's time is over is not waited for, so its panic may not be seen. A
// nil ctx, db or f panics. Do is safe for concurrent use.
func Do(ctx context.Context, db *sql.DB, o Options, f func(ctx context.Context, tx *sql.Tx) error) error {
	switch {
	case db == nil:
		panic("sqlretry: Do called with a nil db")
	case f == nil:
		panic("sqlretry: Do called with a nil f")
	}

	t := transaction{ctx: ctx, db: db, options: &o, f: f, spanner: isSpanner(db.Driver())}
	retrier := backoff.Retrier{
		AttemptTimeout: o.AttemptTimeout,
		Slots:          o.Slots,
		MaxAttempts:    cmp.Or(o.MaxAttempts, defaultMaxAttempts),
		MaxRetryAfter:  o.MaxRetryAfter,
		Policy:         o.policy,
		Budget:         o.Budget,
		Notify:         o.Notify,
		Done:           o.Done,
	}
	return retrier.Do(ctx, t.attempt)
}

func (o *Options) policy() backoff.BackOff {
	if o.Policy != nil {
		policy := o.Policy()
		if policy != nil {
			return policy
		}
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstWait),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(longestWait),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(backoff.FullJitter),
	)
}
