//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

// testErrors provokes the errors of a server, one after the other.
func testErrors(t *testing.T, s server) {
	admin := s.open(t)
	cases.Execute(t, admin, cases.NewPair...)
	t.Run("conflicts", func(t *testing.T) {
		if s.database == "MariaDB" {
			s.mariaDBConflicts(t, admin)
			s.mariaDBCommits(t, admin)
		} else {
			s.postgresConflicts(t)
			s.stalePlan(t, admin)
		}
	})
	t.Run("refusals", func(t *testing.T) { s.refusals(t, admin) })
	t.Run("connections", func(t *testing.T) { s.connectionsLost(t, admin) })
	t.Run("full", func(t *testing.T) { s.full(t) })
}

// crossed changes one row and then the other, each transaction in its own order.
func crossed(t *testing.T, driver string, db *sql.DB, says string) {
	change := func(id func(i int) int) func(context.Context, *sql.Tx, int) error {
		return func(ctx context.Context, tx *sql.Tx, i int) error { return cases.Run(ctx, tx, cases.Set(id(i), 3+i)) }
	}
	cases.PairCase{
		Name:   "deadlock",
		First:  change(func(i int) int { return 1 + i }),
		Second: change(func(i int) int { return 2 - i }),
		Says:   says,
	}.Run(t, driver, db)
}

var serializable = &sql.TxOptions{Isolation: sql.LevelSerializable}

// balances is, of the five tests of github.com/cockroachdb/cockroach-go/v2/crdb, v2.4.2, the one that sqlretry's own
// tests do not hold. Two transactions read both balances before either of them writes. Each moves an amount from the
// larger account to the other, so that one after the other they undo each other.
func balances(t *testing.T, driver string, db *sql.DB, says string) {
	cases.Execute(t, db, cases.Set(1, 100), cases.Set(2, 100))
	var amounts [2]int
	cases.PairCase{
		Name: "crdb, TestExecuteTx",
		First: func(ctx context.Context, tx *sql.Tx, i int) error {
			var first, second int
			query := "SELECT a.n, b.n FROM pair a, pair b WHERE a.id = 1 AND b.id = 2"
			err := tx.QueryRowContext(ctx, query).Scan(&first, &second)
			amounts[i] = 50
			if first > second {
				amounts[i] = -50
			}
			return err
		},
		Second: func(ctx context.Context, tx *sql.Tx, i int) error {
			return cases.Run(ctx, tx,
				fmt.Sprintf("UPDATE pair SET n = n + %d WHERE id = 1", amounts[i]),
				fmt.Sprintf("UPDATE pair SET n = n - %d WHERE id = 2", amounts[i]))
		},
		Says: says,
		Tx:   serializable,
	}.Run(t, driver, db)
	require.Equal(t, [2]int{100, 100}, [2]int{value(t, db, 1), value(t, db, 2)}, "balances")
}

// value returns what a row has.
func value(t *testing.T, db *sql.DB, id int) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(fmt.Sprintf("SELECT n FROM pair WHERE id = %d", id)).Scan(&n))
	return n
}

func (s server) postgresConflicts(t *testing.T) {
	db := s.open(t)
	crossed(t, s.driver, db, "40P01")
	balances(t, s.driver, db, "40001")

	// Each of two transactions sees that there are two, and takes one away.
	cases.Execute(t, db, cases.Set(1, 1), cases.Set(2, 1))
	var sums [2]int
	written := cases.Meet()
	cases.PairCase{
		Name: "write skew, at COMMIT",
		First: func(ctx context.Context, tx *sql.Tx, i int) error {
			return tx.QueryRowContext(ctx, "SELECT sum(n) FROM pair").Scan(&sums[i])
		},
		Second: func(ctx context.Context, tx *sql.Tx, i int) error {
			var err error
			if sums[i] == 2 {
				err = cases.Run(ctx, tx, cases.Set(1+i, 0))
			}
			written(i)
			return err
		},
		Says: "40001",
		Tx:   serializable,
	}.Run(t, s.driver, db)
	require.Equal(t, 1, value(t, db, 1)+value(t, db, 2))
}

func (s server) mariaDBConflicts(t *testing.T, admin *sql.DB) {
	db := s.open(t)
	crossed(t, s.driver, db, "1213")
	balances(t, s.driver, db, "1213")

	// Another transaction holds a row for the second that a lock is waited for.
	holder, err := admin.Begin()
	require.NoError(t, err)
	require.NoError(t, cases.Run(t.Context(), holder, cases.Set(1, 5)))
	cases.ErrorCase{
		Name:     "lock wait timeout",
		F:        func(ctx context.Context, tx *sql.Tx, _ int) error { return cases.Run(ctx, tx, cases.Set(1, 6)) },
		Between:  func() { holder.Rollback() },
		Attempts: 2,
	}.Run(t, s.driver, db)

	if _, err := admin.Exec("SET SESSION innodb_snapshot_isolation = ON"); err != nil {
		t.Log("skipped: this MariaDB has no innodb_snapshot_isolation:", err)
		return
	}
	cases.ErrorCase{
		Name: "snapshot conflict",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, "SET SESSION innodb_snapshot_isolation = ON")
			if err != nil {
				return err
			}
			if err := tx.QueryRowContext(ctx, "SELECT n FROM pair WHERE id = 1").Scan(new(int)); err != nil {
				return err
			}
			if attempt == 1 {
				_, err = admin.ExecContext(ctx, "UPDATE pair SET n = n + 1 WHERE id = 1")
			}
			return errors.Join(err, cases.Run(ctx, tx, cases.Set(1, 8)))
		},
		Attempts: 2,
	}.Run(t, s.driver, db)
}

// mariaDBCommits has f do what the package comment forbids, and shows what is left of its transaction.
func (s server) mariaDBCommits(t *testing.T, admin *sql.DB) {
	db := s.open(t)
	rows := func() (n int) {
		require.NoError(t, admin.QueryRow("SELECT count(*) FROM half").Scan(&n))
		cases.Execute(t, admin, "DELETE FROM half")
		return n
	}
	conflict := &mysql.MySQLError{Number: 1213}
	cases.Execute(t, admin, "DROP TABLE IF EXISTS half, other", "CREATE TABLE half (id INT)")

	cases.ErrorCase{
		Name: "a statement that commits, then a conflict",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, "INSERT INTO half VALUES (1)", "CREATE TABLE IF NOT EXISTS other (id INT)")
			if err == nil && attempt == 1 {
				err = conflict
			}
			return err
		},
		Attempts: 2,
	}.Run(t, s.driver, db)
	require.Equal(t, 2, rows(), "the row of the first attempt is not undone")

	err := sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		require.Error(t, cases.Run(ctx, tx, "INSERT INTO pair VALUES (1, 1)")) // a duplicate key
		return cases.Run(ctx, tx, "INSERT INTO half VALUES (1)")
	})
	require.NoError(t, err)
	require.Equal(t, 1, rows(), "a swallowed error: the other statement is committed")

	err = sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		require.NoError(t, cases.Run(ctx, tx, "INSERT INTO half VALUES (1)"))
		require.ErrorContains(t, s.deadlock(ctx, t, admin, tx), "1213")
		require.NoError(t, cases.Run(ctx, tx, "INSERT INTO half VALUES (2)"))
		return errRefused
	})
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, 1, rows(), "a swallowed deadlock: what follows commits by itself")
}

// deadlock has tx lose a deadlock with a transaction that has changed more, and returns what the database says to tx.
func (s server) deadlock(ctx context.Context, t *testing.T, admin *sql.DB, tx *sql.Tx) error {
	winner, err := admin.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer winner.Rollback()
	for id := range 20 {
		require.NoError(t, cases.Run(ctx, winner, fmt.Sprintf("INSERT INTO half VALUES (%d)", 100+id)))
	}
	require.NoError(t, cases.Run(ctx, winner, cases.Set(2, 1)))
	require.NoError(t, cases.Run(ctx, tx, cases.Set(1, 1)))

	waited := make(chan error, 1)
	go func() { waited <- cases.Run(ctx, winner, cases.Set(1, 1)) }()
	err = cases.Run(ctx, tx, cases.Set(2, 1))
	require.NoError(t, <-waited)
	return err
}

// refusals are answers that stay the same.
func (s server) refusals(t *testing.T, admin *sql.DB) {
	db := s.open(t)
	statement := func(statements ...string) func(context.Context, *sql.Tx, int) error {
		return func(ctx context.Context, tx *sql.Tx, _ int) error { return cases.Run(ctx, tx, statements...) }
	}
	refused := []cases.ErrorCase{
		{Name: "duplicate key", F: statement("INSERT INTO pair VALUES (1, 1)")},
		{Name: "syntax", F: statement("INSERT pair pair")},
		{Name: "application's error", F: func(context.Context, *sql.Tx, int) error { return errRefused }},
	}
	if s.database == "PostgreSQL" {
		cases.Execute(t, admin, "DROP TABLE IF EXISTS child",
			"CREATE TABLE child (id INT REFERENCES pair DEFERRABLE INITIALLY DEFERRED)")
		defer cases.Execute(t, admin, "DROP TABLE child")
		swallowed := func(ctx context.Context, tx *sql.Tx, _ int) error {
			err := tx.QueryRowContext(ctx, "SELECT sum(n) FROM pair").Scan(new(int))
			cases.Execute(t, admin, cases.Set(1, 9))
			require.True(t, sqlretry.Retryable(cases.Run(ctx, tx, cases.Set(1, 8))))
			return err
		}
		refused = append(refused,
			cases.ErrorCase{Name: "deferred foreign key, at COMMIT", F: statement("INSERT INTO child VALUES (99)")},
			cases.ErrorCase{Name: "conflict that f swallows, at COMMIT", F: swallowed, Tx: serializable},
			cases.ErrorCase{Name: "statement timeout", F: statement("SET LOCAL statement_timeout = 10", "SELECT pg_sleep(60)")},
		)
	}
	for _, c := range refused {
		c.Attempts = 1
		c.Fails = true
		c.Run(t, s.driver, db)
	}
}

// connectionsLost ends connections at several points. Once its COMMIT has begun, a transaction is not repeated.
func (s server) connectionsLost(t *testing.T, admin *sql.DB) {
	db := s.open(t)
	cases.ErrorCase{
		Name: "connection killed before a statement",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := cases.Run(ctx, tx, cases.Set(1, 10))
			if err == nil && attempt == 1 {
				err = s.end(ctx, admin, tx)
			}
			return errors.Join(err, cases.Run(ctx, tx, cases.Set(2, 10)))
		},
		Attempts: 2,
	}.Run(t, s.driver, db)

	p := newProxy(t, s.network, s.target)
	proxied := s.via(t, p.address())
	defer proxied.Close()
	cases.ErrorCase{
		Name: "connection lost in a query",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if attempt == 1 {
				p.cut("select sum")
			}
			if err := tx.QueryRowContext(ctx, "SELECT sum(n) FROM pair").Scan(new(int)); err != nil {
				return err
			}
			return cases.Run(ctx, tx, "UPDATE pair SET n = n + 1 WHERE id = 1")
		},
		Attempts: 2,
	}.Run(t, s.driver, proxied)
	require.Equal(t, 11, value(t, admin, 1))

	cases.ErrorCase{
		Name: "connection killed before COMMIT",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return errors.Join(cases.Run(ctx, tx, cases.Set(1, 12)), s.end(ctx, admin, tx))
		},
		Attempts: 1,
		Fails:    true,
		Unknown:  true,
	}.Run(t, s.driver, db)
	require.Equal(t, 11, value(t, admin, 1))

	cases.ErrorCase{
		Name: "connection lost after COMMIT",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			p.cut("commit")
			return cases.Run(ctx, tx, cases.Set(1, 13))
		},
		Attempts: 1,
		Fails:    true,
		Unknown:  true,
	}.Run(t, s.driver, proxied)
	require.Equal(t, 13, value(t, admin, 1))

	if s.database == "PostgreSQL" {
		s.killedInCommit(t, admin)
	}
	cases.ErrorCase{
		Name: "connection killed, application's error",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return errors.Join(errRefused, s.end(ctx, admin, tx))
		},
		Attempts: 1,
		Fails:    true,
	}.Run(t, s.driver, db)

	s.rowsOpen(t, db)
}

// rowsOpen leaves rows open when another statement begins.
func (s server) rowsOpen(t *testing.T, db *sql.DB) {
	leave := func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT a.n FROM pair a, pair b, pair c, pair d")
		if err != nil {
			return err
		}
		defer rows.Close()
		rows.Next()
		return cases.Run(ctx, tx, cases.Set(1, 14))
	}

	// If a statement has a context that can end, MySQL's driver reports it as a lost connection. So it is repeated until no
	// retries are left.
	attempts := 1
	if s.database == "MariaDB" {
		attempts = 101
	}
	says := func(err error) bool { return strings.Contains(err.Error(), "rows of an earlier query") }
	cases.ErrorCase{
		Name:     "rows left open",
		F:        func(ctx context.Context, tx *sql.Tx, _ int) error { return leave(ctx, tx) },
		Says:     says,
		Attempts: attempts,
		Fails:    true,
	}.Run(t, s.driver, db)
	cases.ErrorCase{
		Name:     "rows left open, no context",
		F:        func(_ context.Context, tx *sql.Tx, _ int) error { return leave(context.Background(), tx) },
		Says:     says,
		Attempts: 1,
		Fails:    true,
	}.Run(t, s.driver, db)
}

// stalePlan changes a table after a connection has prepared a query of it.
func (s server) stalePlan(t *testing.T, admin *sql.DB) {
	cases.Execute(t, admin, "DROP TABLE IF EXISTS plan", "CREATE TABLE plan (n INT)", "INSERT INTO plan VALUES (1)")
	db := s.open(t)
	db.SetMaxOpenConns(1)
	prepared, err := db.Prepare("SELECT * FROM plan WHERE n > $1")
	require.NoError(t, err)
	defer prepared.Close()
	read := func(rows *sql.Rows, err error) error {
		if err != nil {
			return err
		}
		rows.Next()
		return errors.Join(rows.Err(), rows.Close())
	}
	const cached = "SELECT * FROM plan WHERE n >= $1"
	require.NoError(t, read(db.Query(cached, 0)))
	require.NoError(t, read(prepared.Query(0)))
	cases.Execute(t, admin, "ALTER TABLE plan ADD COLUMN more INT")

	if s.driver == "jackc/pgx" { // which keeps the statements of a connection
		cases.ErrorCase{
			Name:     "stale plan",
			F:        func(ctx context.Context, tx *sql.Tx, _ int) error { return read(tx.QueryContext(ctx, cached, 0)) },
			Attempts: 2,
		}.Run(t, s.driver, db)
	}
	cases.ErrorCase{
		Name: "stale plan, prepared outside of f",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return read(tx.StmtContext(ctx, prepared).QueryContext(ctx, 0))
		},
		Attempts: 101,
		Fails:    true,
	}.Run(t, s.driver, db)
}

// killedInCommit has a deferred trigger end the connection. Its own error says that the COMMIT has failed.
func (s server) killedInCommit(t *testing.T, admin *sql.DB) {
	cases.Execute(t, admin,
		"DROP TABLE IF EXISTS fatal",
		"CREATE TABLE fatal (n INT)",
		`CREATE OR REPLACE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END'`,
		"CREATE CONSTRAINT TRIGGER die AFTER INSERT ON fatal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()")
	cases.ErrorCase{
		Name: "connection killed in COMMIT",
		F: func(ctx context.Context, tx *sql.Tx, _ int) error {
			return cases.Run(ctx, tx, "INSERT INTO fatal VALUES (1)")
		},
		Attempts: 1,
		Fails:    true,
		Unknown:  true,
	}.Run(t, s.driver, s.open(t))

	var rows int
	require.NoError(t, admin.QueryRow("SELECT count(*) FROM fatal").Scan(&rows))
	require.Zero(t, rows)
}

// full takes all connections of the server, and gives them back after the first attempt.
func (s server) full(t *testing.T) {
	var taken []*sql.Conn
	release := func() {
		for _, conn := range taken {
			conn.Close()
		}
		taken = nil
	}
	defer release()
	holders := s.open(t)
	holders.SetMaxIdleConns(0)
	for {
		conn, err := holders.Conn(t.Context())
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	cases.ErrorCase{
		Name:    "full server, at BEGIN",
		F:       func(ctx context.Context, tx *sql.Tx, _ int) error { return cases.Run(ctx, tx, cases.Set(1, 15)) },
		Between: release,
	}.Run(t, s.driver, s.open(t))
}

// TestMariaDBStops stops the server in the middle of a transaction, and starts it again.
func TestMariaDBStops(t *testing.T) {
	m := startMariaDB(t)
	s := mysqlServer(m)
	cases.Execute(t, s.open(t), cases.NewPair...)
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		stopped := false
		cases.ErrorCase{
			Name: fmt.Sprint("server stopped: ", signal),
			F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
				err := cases.Run(ctx, tx, cases.Set(1, 20))
				if err == nil && attempt == 1 {
					m.stop(signal)
					stopped = true
				}
				return errors.Join(err, cases.Run(ctx, tx, cases.Set(2, 20)))
			},
			Between: func() {
				if stopped {
					stopped = false
					m.start()
				}
			},
		}.Run(t, s.driver, s.open(t))
	}
}

// TestPostgresCrashes kills a process of the server, which then ends all connections and starts anew.
func TestPostgresCrashes(t *testing.T) {
	config := startPostgres(t)
	for _, s := range []server{pgxServer(config), pqServer(config)} {
		cases.Execute(t, s.open(t), cases.NewPair...)
		cases.ErrorCase{
			Name: "server crashed",
			F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
				err := cases.Run(ctx, tx, cases.Set(1, 20))
				var pid int
				if err == nil && attempt == 1 {
					err = s.open(t).QueryRow(s.me).Scan(&pid)
				}
				if pid > 0 {
					err = syscall.Kill(pid, syscall.SIGKILL)
					_ = cases.Run(ctx, tx, "SELECT pg_sleep(60)") // until the connection has ended
				}
				return errors.Join(err, cases.Run(ctx, tx, cases.Set(2, 20)))
			},
		}.Run(t, s.driver, s.open(t))
	}
}
