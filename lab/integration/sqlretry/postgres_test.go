//go:build unix

package sqlretry_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

// startPostgres starts a PostgreSQL server of the test's own, which listens on a Unix socket alone,
// and returns how to reach it. It skips the test if there is no PostgreSQL.
func startPostgres(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	config, _ := runPostgres(t)
	return config
}

// runPostgres is startPostgres, and also returns the server's process.
func runPostgres(t *testing.T, options ...string) (*pgx.ConnConfig, *os.Process) {
	t.Helper()
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	bin, ok := programs(debian, "initdb", "postgres")
	if !ok {
		t.Skip("skipped: no PostgreSQL in PATH nor in Debian's folder; Debian's package is postgresql")
	}

	folder := newFolder(t, "postgres")
	var attr syscall.SysProcAttr
	if os.Geteuid() == 0 { // as which PostgreSQL does not run
		nobody, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
		require.NoError(t, errors.Join(err1, err2, os.Chown(folder, int(uid), int(gid))))
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir, c.SysProcAttr, c.Stderr = folder, &attr, t.Output()
		return c
	}
	data := filepath.Join(folder, "data")
	require.NoError(t, command("initdb", "-D", data, "-U", "test", "-A", "trust", "-N", "-E", "UTF8", "--no-locale").Run())
	args := []string{"-D", data, "-k", folder, "-h", "", "-F", "-c", "deadlock_timeout=10ms", "-c", "log_min_messages=panic"}
	server := command("postgres", append(args, options...)...)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGQUIT)
		server.Wait()
	})

	config, err := pgx.ParseConfig("host=" + folder + " user=test dbname=postgres sslmode=disable")
	require.NoError(t, err)
	version, err := backoff.RetryWithData(func() (string, error) {
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			return "", err
		}
		defer conn.Close(t.Context())
		return conn.PgConn().ParameterStatus("server_version"), nil
	}, startupWaits())
	require.NoError(t, err)
	t.Log("with PostgreSQL", version, "from", bin)
	return config, server.Process
}

func openDB(t *testing.T, config *pgx.ConnConfig) *sql.DB {
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// openPostgres returns a database of config's server with a counter that is zero and an empty ledger.
func openPostgres(t *testing.T, config *pgx.ConnConfig) *sql.DB {
	db := openDB(t, config)
	cases.Execute(t, db,
		"DROP TABLE IF EXISTS counter, ledger, pair",
		"CREATE TABLE pair (id INT PRIMARY KEY, n INT)",
		"INSERT INTO pair VALUES (1, 1), (2, 1)")
	cases.Execute(t, db, emptyLedger...)
	return db
}

// states collects the SQLSTATEs that transactions were repeated for.
type states struct {
	mu   sync.Mutex
	seen map[string]int
}

func (s *states) notify(_ context.Context, _ int, err error, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		s.seen[e.Code]++
	} else {
		s.seen[err.Error()]++
	}
}

func TestPostgres(t *testing.T) {
	config := startPostgres(t)
	serializable := &sql.TxOptions{Isolation: sql.LevelSerializable}

	t.Run("writers", func(t *testing.T) {
		const writers, turns = 20, 20
		db := openPostgres(t, config)
		var s states
		errs := make([]error, writers)
		var group sync.WaitGroup
		for writer := range writers {
			group.Go(func() {
				for turn := range turns {
					errs[writer] = errors.Join(errs[writer], sqlretry.Do(t.Context(), db,
						sqlretry.Options{Tx: serializable, MaxRetries: math.MaxInt, Policy: cases.ShortWaits, Notify: s.notify},
						func(_ context.Context, tx *sql.Tx) error { return enter(tx, writer, turn) }))
				}
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
		t.Log(writers*turns, "transactions, repeated:", s.seen)
		require.Positive(t, s.seen["40001"])
		requireEntries(t, db, writers*turns)
	})

	// Each of two transactions sees that there are two, and takes one away.
	t.Run("write skew", func(t *testing.T) {
		db := openPostgres(t, config)
		var s states
		both := cases.Meet()
		var errs [2]error
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				errs[i] = sqlretry.Do(t.Context(), db, sqlretry.Options{Tx: serializable, Notify: s.notify}, func(_ context.Context, tx *sql.Tx) error {
					var sum int
					if err := tx.QueryRow("SELECT sum(n) FROM pair").Scan(&sum); err != nil {
						return err
					}
					both(i)
					if sum < 2 {
						return nil
					}
					_, err := tx.Exec("UPDATE pair SET n = 0 WHERE id = $1", i+1)
					return err
				})
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(errs[:]...))
		require.Positive(t, s.seen["40001"]) // twice if the second attempt begins before the other's Commit has ended
		require.Len(t, s.seen, 1)
		var sum int
		require.NoError(t, db.QueryRow("SELECT sum(n) FROM pair").Scan(&sum))
		require.Equal(t, 1, sum)
	})

	// Two transactions change two rows, each the other's last one first.
	t.Run("deadlock", func(t *testing.T) {
		const rounds = 30
		db := openPostgres(t, config)
		var s states
		for range rounds {
			both := cases.Meet()
			var errs [2]error
			var group sync.WaitGroup
			for i := range errs {
				group.Go(func() {
					errs[i] = sqlretry.Do(t.Context(), db, sqlretry.Options{Notify: s.notify}, func(_ context.Context, tx *sql.Tx) error {
						_, err1 := tx.Exec("UPDATE pair SET n = n + 1 WHERE id = $1", 1+i)
						both(i)
						_, err2 := tx.Exec("UPDATE pair SET n = n + 1 WHERE id = $1", 2-i)
						return errors.Join(err1, err2)
					})
				})
			}
			group.Wait()
			require.NoError(t, errors.Join(errs[:]...))
		}
		t.Log(2*rounds, "transactions, repeated:", s.seen)
		require.GreaterOrEqual(t, s.seen["40P01"], rounds)
		require.Len(t, s.seen, 1)
		var right int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM pair WHERE n = $1", 1+2*rounds).Scan(&right))
		require.Equal(t, 2, right)
	})

	t.Run("connection lost", func(t *testing.T) { testConnectionLost(t, config) })

	t.Run("hostile", func(t *testing.T) {
		admin := openPostgres(t, config)
		testHostile(t, func() *sql.DB { return openDB(t, config) }, true, func() {
			admin.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`)
		})
	})
}

// testConnectionLost ends connections at several points of a transaction. Once its Commit has begun,
// it is not repeated, whatever Options.Retryable says.
func testConnectionLost(t *testing.T, config *pgx.ConnConfig) {
	var cut atomic.Bool // the connection that the next COMMIT is sent on, once that has been answered
	var end atomic.Bool // the connection that is read next
	cutting := config.Copy()
	cutting.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := config.DialFunc(ctx, network, address)
		return cutConn{conn, &cut, &end, new(atomic.Bool)}, err
	}
	for _, test := range []struct {
		name        string
		retryable   bool
		calls, want int
		lose        func(tx *sql.Tx, admin *sql.DB) error
	}{
		{"before a statement", false, 2, 1, func(tx *sql.Tx, admin *sql.DB) error {
			return errors.Join(terminate(tx, admin), enter(tx, 1, 2))
		}},
		{"in a query", false, 2, 1, func(tx *sql.Tx, _ *sql.DB) error {
			end.Store(true)
			return tx.QueryRow("SELECT 1").Scan(new(int))
		}},
		{"not lost, but in use", false, 1, 0, func(tx *sql.Tx, _ *sql.DB) error {
			rows, err := tx.Query("SELECT generate_series(1, 10)")
			if err != nil {
				return err
			}
			defer rows.Close()
			return enter(tx, 1, 2)
		}},
		{"before Commit", true, 1, 0, terminate},
		{"during Commit", true, 1, 0, func(tx *sql.Tx, _ *sql.DB) error {
			_, err := tx.Exec("INSERT INTO fatal VALUES (1)")
			return err
		}},
		{"after Commit", true, 1, 1, func(*sql.Tx, *sql.DB) error {
			cut.Store(true)
			return nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			admin := openPostgres(t, config)
			cases.Execute(t, admin,
				"DROP TABLE IF EXISTS fatal",
				"CREATE TABLE fatal (n INT)",
				`CREATE OR REPLACE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
					'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END'`,
				"CREATE CONSTRAINT TRIGGER die AFTER INSERT ON fatal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()")
			db := openDB(t, cutting)
			calls := 0
			options := sqlretry.Options{Policy: zeroWaits}
			if test.retryable {
				options.Retryable = func(error) bool { return true }
			}
			err := sqlretry.Do(t.Context(), db, options, func(_ context.Context, tx *sql.Tx) error {
				calls++
				if err := enter(tx, 1, 1); err != nil || calls > 1 {
					return err
				}
				return test.lose(tx, admin)
			})
			t.Log(err)
			require.Equal(t, test.calls, calls)
			if calls == 1 {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
			}
			requireEntries(t, admin, test.want)
		})
	}
}

// terminate lets admin end tx's connection, and waits until it has ended.
func terminate(tx *sql.Tx, admin *sql.DB) error {
	var pid int
	if err := tx.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	_, err := admin.Exec("SELECT pg_terminate_backend($1, 60000)", pid)
	return err
}

// cutConn is a connection that swallows the answer to a COMMIT, and closes, or that ends. It does so where the
// answer is read: after a write that takes 15 ms, pgx reads in a goroutine of its own.
type cutConn struct {
	net.Conn
	cut, end, committing *atomic.Bool
}

func (c cutConn) Write(p []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(p), []byte("commit")) && c.cut.CompareAndSwap(true, false) {
		c.committing.Store(true)
	}
	return c.Conn.Write(p)
}

func (c cutConn) Read(p []byte) (int, error) {
	if c.end.CompareAndSwap(true, false) {
		c.Close()
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	if c.committing.CompareAndSwap(true, false) {
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}
