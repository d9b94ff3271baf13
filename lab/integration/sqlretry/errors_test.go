//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

var serializable = &sql.TxOptions{Isolation: sql.LevelSerializable}

// A pair is two transactions at once, whose functions are called with the index of the transaction, 0 or 1. Each waits
// for the other after its first half. One of them, at least, is repeated.
type pair struct {
	first, second func(ctx context.Context, tx *sql.Tx, i int) error
	tx            *sql.TxOptions
	says          string // for what a transaction is repeated: a regular expression
}

func (p pair) run(t *testing.T, db *sql.DB) {
	both := meet()
	var retries atomic.Int64
	o := sqlretry.Options{
		Tx:          p.tx,
		MaxAttempts: -1,
		Notify: func(_ context.Context, _ int, err error, _ time.Duration) {
			retries.Add(1)
			require.Regexp(t, p.says, err)
		},
	}
	var group errgroup.Group
	for i := range 2 {
		group.Go(func() error {
			return sqlretry.Do(t.Context(), db, o, func(ctx context.Context, tx *sql.Tx) error {
				err := p.first(ctx, tx, i)
				both(i)
				if err != nil {
					return err
				}
				return p.second(ctx, tx, i)
			})
		})
	}
	require.NoError(t, group.Wait())
	require.Positive(t, retries.Load())
}

// meet returns a function that waits, the first time that each of two callers calls it, for the other one.
func meet() func(caller int) {
	var both sync.WaitGroup
	both.Add(2)
	var once [2]sync.Once
	return func(caller int) {
		once[caller].Do(func() {
			both.Done()
			both.Wait()
		})
	}
}

// deadlock changes one row and then the other, each transaction in its own order.
func (s server) deadlock(t *testing.T) {
	pair{
		first:  func(ctx context.Context, tx *sql.Tx, i int) error { return cases.Run(ctx, tx, cases.Set(1+i, 3+i)) },
		second: func(ctx context.Context, tx *sql.Tx, i int) error { return cases.Run(ctx, tx, cases.Set(2-i, 3+i)) },
		says:   "40P01|1213",
	}.run(t, s.open(t))
}

// writeSkew has two transactions see that there are two, and each take one away.
func (s server) writeSkew(t *testing.T) {
	db := s.open(t)
	cases.Execute(t, db, cases.Set(1, 1), cases.Set(2, 1))
	var sums [2]int
	written := meet()
	pair{
		first: func(ctx context.Context, tx *sql.Tx, i int) error {
			return tx.QueryRowContext(ctx, "SELECT sum(n) FROM pair").Scan(&sums[i])
		},
		second: func(ctx context.Context, tx *sql.Tx, i int) error {
			var err error
			if sums[i] == 2 {
				err = cases.Run(ctx, tx, cases.Set(1+i, 0))
			}
			written(i)
			return err
		},
		tx:   serializable,
		says: "^COMMIT: .*40001",
	}.run(t, db)
	require.Equal(t, 1, cases.Number(t, db, "SELECT sum(n) FROM pair"))
}

func (s server) mariaDBConflicts(t *testing.T) {
	db, admin := s.open(t), s.open(t)

	// Another transaction holds a row for the second that a lock is waited for.
	holder, err := admin.Begin()
	require.NoError(t, err)
	require.NoError(t, cases.Run(t.Context(), holder, cases.Set(1, 5)))
	cases.Case{
		Name:    "lock wait timeout",
		F:       cases.Statements(cases.Set(1, 6)),
		Says:    "1205",
		Between: func() { holder.Rollback() },
	}.Run(t, db)

	cases.Execute(t, admin, "DROP TABLE IF EXISTS changing", "CREATE TABLE changing (n INT)")
	cases.Case{
		Name: "changed table",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := tx.QueryRowContext(ctx, "SELECT n FROM pair WHERE id = 1").Scan(new(int)) // which makes the snapshot
			if err == nil && attempt == 1 {
				_, err = admin.ExecContext(ctx, "ALTER TABLE changing ADD COLUMN m INT, ALGORITHM=COPY")
			}
			return errors.Join(err, tx.QueryRowContext(ctx, "SELECT count(*) FROM changing").Scan(new(int)))
		},
		Says: "1412",
	}.Run(t, db)

	const isolate = "SET SESSION innodb_snapshot_isolation = ON"
	if _, err := admin.Exec(isolate); err != nil {
		t.Log("skipped: this MariaDB has no innodb_snapshot_isolation:", err)
		return
	}
	cases.Case{
		Name: "snapshot conflict",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, isolate)
			if err == nil {
				err = tx.QueryRowContext(ctx, "SELECT n FROM pair WHERE id = 1").Scan(new(int))
			}
			if err == nil && attempt == 1 {
				_, err = admin.ExecContext(ctx, "UPDATE pair SET n = n + 1 WHERE id = 1")
			}
			return errors.Join(err, cases.Run(ctx, tx, cases.Set(1, 8)))
		},
		Says: "1020",
	}.Run(t, db)
}

// mariaDBCommits has f do what the package comment forbids, and shows what is left of its transaction.
func (s server) mariaDBCommits(t *testing.T) {
	db, admin := s.open(t), s.open(t)
	left := func() int {
		defer cases.Execute(t, admin, "DELETE FROM half")
		return cases.Number(t, admin, "SELECT count(*) FROM half")
	}
	cases.Execute(t, admin, "DROP TABLE IF EXISTS half, other", "CREATE TABLE half (id INT)")

	cases.Case{
		Name: "a statement that commits, then a conflict",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, "INSERT INTO half VALUES (1)", "CREATE TABLE IF NOT EXISTS other (id INT)")
			if err == nil && attempt == 1 {
				err = &mysql.MySQLError{Number: 1213}
			}
			return err
		},
	}.Run(t, db)
	require.Equal(t, 2, left(), "the row of the first attempt is not undone")

	err := sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		require.Error(t, cases.Run(ctx, tx, "INSERT INTO pair VALUES (1, 1)")) // a duplicate key
		return cases.Run(ctx, tx, "INSERT INTO half VALUES (1)")
	})
	require.NoError(t, err)
	require.Equal(t, 1, left(), "a swallowed error: the other statement is committed")

	err = sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		require.NoError(t, cases.Run(ctx, tx, "INSERT INTO half VALUES (1)"))
		require.ErrorContains(t, loseDeadlock(ctx, t, admin, tx), "1213")
		require.NoError(t, cases.Run(ctx, tx, "INSERT INTO half VALUES (2)"))
		return errRefused
	})
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, 1, left(), "a swallowed deadlock: what follows commits by itself")

	cases.Case{
		Name: "a deadlock after a savepoint",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if attempt > 1 {
				return nil
			}
			require.NoError(t, cases.Run(ctx, tx, "SAVEPOINT s"))
			err := loseDeadlock(ctx, t, admin, tx)
			back := cases.Run(ctx, tx, "ROLLBACK TO SAVEPOINT s")
			require.ErrorContains(t, back, "1305")
			require.False(t, sqlretry.Retryable(back))
			return errors.Join(err, back)
		},
		Says: "1213",
	}.Run(t, db)
}

// loseDeadlock has tx lose a deadlock with a transaction that has changed more, and returns what the database says to
// tx.
func loseDeadlock(ctx context.Context, t *testing.T, admin *sql.DB, tx *sql.Tx) error {
	winner, err := admin.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer winner.Rollback()
	for id := range 20 {
		require.NoError(t, cases.Run(ctx, winner, fmt.Sprintf("INSERT INTO half VALUES (%d)", 100+id)))
	}
	require.NoError(t, cases.Run(ctx, winner, cases.Set(2, 1)))
	require.NoError(t, cases.Run(ctx, tx, cases.Set(1, 1)))

	var group errgroup.Group
	group.Go(func() error { return cases.Run(ctx, winner, cases.Set(1, 1)) })
	err = cases.Run(ctx, tx, cases.Set(2, 1))
	require.NoError(t, group.Wait())
	return err
}

// refusals are answers that stay the same.
func (s server) refusals(t *testing.T) {
	db := s.open(t)
	refuse := func(context.Context, *sql.Tx, int) error { return errRefused }
	for _, c := range []cases.Case{
		{Name: "duplicate key", F: cases.Statements("INSERT INTO pair VALUES (1, 1)"), Says: "uplicate"},
		{Name: "syntax", F: cases.Statements("INSERT pair pair"), Says: "syntax"},
		{Name: "application's error", F: refuse, Says: errRefused.Error()},
	} {
		c.Outcome = cases.Returned
		c.Run(t, db)
	}
}

func (s server) commitRefusals(t *testing.T) {
	db, admin := s.open(t), s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS child",
		"CREATE TABLE child (id INT REFERENCES pair DEFERRABLE INITIALLY DEFERRED)")
	defer cases.Execute(t, admin, "DROP TABLE child")
	swallowed := func(ctx context.Context, tx *sql.Tx, _ int) error {
		err := tx.QueryRowContext(ctx, "SELECT sum(n) FROM pair").Scan(new(int))
		cases.Execute(t, admin, cases.Set(1, 9))
		require.True(t, sqlretry.Retryable(cases.Run(ctx, tx, cases.Set(1, 8))))
		return err
	}
	for _, c := range []cases.Case{
		{Name: "deferred foreign key", F: cases.Statements("INSERT INTO child VALUES (99)"), Says: "COMMIT: …foreign key"},
		{Name: "conflict that f swallows", F: swallowed, Tx: serializable, Says: "COMMIT: "},
		{Name: "timeout", F: cases.Statements("SET LOCAL statement_timeout = 10", "SELECT pg_sleep(60)"), Says: "57014"},
	} {
		c.Outcome = cases.Returned
		c.Run(t, db)
	}
}

// connectionsLost ends connections at several points. Once its COMMIT has begun, a transaction is not repeated.
func (s server) connectionsLost(t *testing.T) {
	db, admin := s.open(t), s.open(t)
	p := newProxy(t, s.socket)
	proxied := s.via(t, p)
	first := func() int { return cases.Number(t, admin, "SELECT n FROM pair WHERE id = 1") }

	cases.Case{
		Name: "killed before a statement",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, cases.Set(1, 10))
			if err == nil && attempt == 1 {
				err = s.end(ctx, admin, tx)
			}
			return errors.Join(err, cases.Run(ctx, tx, cases.Set(2, 10)))
		},
	}.Run(t, db)
	require.Equal(t, 10, first())

	cases.Case{
		Name: "lost in a query",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if attempt == 1 {
				p.at("select sum", cut)
			}
			err := tx.QueryRowContext(ctx, "SELECT sum(n) FROM pair").Scan(new(int))
			if err != nil {
				return err
			}
			return cases.Run(ctx, tx, "UPDATE pair SET n = n + 1 WHERE id = 1")
		},
	}.Run(t, proxied)
	require.Equal(t, 11, first())

	cases.Case{
		Name: "killed before COMMIT",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return errors.Join(cases.Run(ctx, tx, cases.Set(1, 12)), s.end(ctx, admin, tx))
		},
		Outcome: cases.Unknown,
	}.Run(t, db)
	require.Equal(t, 11, first())

	cases.Case{
		Name: "lost after COMMIT",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			p.at("commit", cut)
			return cases.Run(ctx, tx, cases.Set(1, 13))
		},
		Outcome: cases.Unknown,
	}.Run(t, proxied)
	require.Equal(t, 13, first())

	cases.Case{
		Name: "killed, application's error",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return errors.Join(errRefused, s.end(ctx, admin, tx))
		},
		Outcome: cases.Returned,
	}.Run(t, db)
}

// rowsOpen leaves rows open when another statement begins. If a statement has a context that can end, MySQL's driver
// reports it as a lost connection. So it is repeated until no retries are left.
func (s server) rowsOpen(t *testing.T) {
	db := s.open(t)
	for name, without := range map[string]bool{"rows left open": false, "rows left open, no context": true} {
		outcome := cases.Returned
		if s.driver == "mysql" && !without {
			outcome = cases.Exhausted
		}
		cases.Case{
			Name: name,
			F: func(ctx context.Context, tx *sql.Tx, _ int) error {
				if without {
					ctx = context.Background()
				}
				rows, err := tx.QueryContext(ctx, "SELECT a.n FROM pair a, pair b, pair c, pair d")
				if err != nil {
					return err
				}
				defer rows.Close()
				rows.Next()
				return cases.Run(ctx, tx, cases.Set(1, 14))
			},
			Says:    "rows of an earlier query",
			Outcome: outcome,
		}.Run(t, db)
	}
}

// stalePlans changes a table after a connection has prepared a query of it.
func (s server) stalePlans(t *testing.T) {
	const query = "SELECT n FROM plan"
	admin, db := s.open(t), s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS plan", "CREATE TABLE plan (n INT)", "INSERT INTO plan VALUES (1)")
	db.SetMaxOpenConns(1)
	prepared, err := db.Prepare(query + " WHERE n > 0")
	require.NoError(t, err)
	defer prepared.Close()
	require.NoError(t, prepared.QueryRow().Scan(new(int)))
	cases.Number(t, db, query)
	cases.Execute(t, admin, "ALTER TABLE plan ALTER n TYPE BIGINT")

	if s.driver == "pgx" { // which keeps the statements of a connection
		cases.Case{
			Name: "kept",
			F: func(ctx context.Context, tx *sql.Tx, _ int) error {
				return tx.QueryRowContext(ctx, query).Scan(new(int))
			},
			Says: "cached plan",
		}.Run(t, db)
	}
	cases.Case{
		Name: "prepared outside of f",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return tx.StmtContext(ctx, prepared).QueryRowContext(ctx).Scan(new(int))
		},
		Says:    "cached plan",
		Outcome: cases.Exhausted,
	}.Run(t, db)
}

// full takes all connections of the server, and gives them back after the first attempt.
func (s server) full(t *testing.T) {
	holders := s.open(t)
	holders.SetMaxIdleConns(0)
	var taken []*sql.Conn
	for {
		conn, err := holders.Conn(t.Context())
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	release := func() {
		for _, conn := range taken {
			conn.Close()
		}
		taken = nil
	}
	defer release()
	cases.Case{Name: "full, at BEGIN", F: cases.Statements(cases.Set(1, 15)), Says: "BEGIN: ", Between: release}.Run(t, s.open(t))
}

// crash kills a process of PostgreSQL, which then ends all connections and starts anew.
func (s server) crash(t *testing.T) {
	cases.Case{
		Name: "crash",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, cases.Set(1, 20))
			if err == nil && attempt == 1 {
				pid := cases.Number(t, s.open(t), s.me)
				err = syscall.Kill(pid, syscall.SIGKILL)
				_ = cases.Run(ctx, tx, "SELECT pg_sleep(60)") // until the connection has ended
			}
			return errors.Join(err, cases.Run(ctx, tx, cases.Set(2, 20)))
		},
		Outcome: cases.Persistent,
	}.Run(t, s.open(t))
}
