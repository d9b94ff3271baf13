//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
)

// A server is a database server of the test's own, reached by one driver. It knows no passwords.
type server struct {
	driver  string // its name in database/sql
	socket  string // on which it listens
	dsn     string // leads to the socket
	proxied string // leads to a proxy, whose address it lacks

	begin string // what the driver sends to begin a transaction
	me    string // returns the number of a connection
	kill  string // ends the connection of a number
	all   string // returns the numbers of all connections of clients

	running string            // returns how many statements with this text run
	locks   map[string]string // DSNs with which a lock is waited for, by what limits the statements that do
}

// TestServers runs the tests below with each driver and its server. The servers that are not installed are skipped.
func TestServers(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		folder := startPostgres(t)
		for _, driver := range []string{"pgx", "postgres"} { // the second is lib/pq
			s := server{
				driver:  driver,
				socket:  filepath.Join(folder, ".s.PGSQL.5432"),
				dsn:     "host=" + folder + " user=test dbname=postgres sslmode=disable",
				proxied: "postgres://test@%s/postgres?sslmode=disable",
				begin:   "begin",
				me:      "SELECT pg_backend_pid()",
				kill:    "SELECT pg_terminate_backend(%d, 60000)",
				all:     "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'",
				running: "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = '%s'",
			}
			s.locks = map[string]string{"driver": s.dsn} // which cancels what its context ends
			t.Run(driver, func(t *testing.T) {
				s.test(t)
				t.Run("write skew", s.writeSkew)
				t.Run("refusals at COMMIT", s.commitRefusals)
				t.Run("stale plans", s.stalePlans)
				t.Run("crash", s.crash)
			})
		}
	})
	t.Run("MariaDB", func(t *testing.T) {
		socket := startMariaDB(t)
		s := server{
			driver:  "mysql",
			socket:  socket,
			dsn:     "root@unix(" + socket + ")/test",
			proxied: "root@tcp(%s)/test",
			begin:   "start transaction",
			me:      "SELECT connection_id()",
			kill:    "KILL %d",
			all:     "SELECT id FROM information_schema.processlist WHERE user = 'root'",
			running: "SELECT count(*) FROM information_schema.processlist WHERE info = '%s'",
		}
		s.locks = map[string]string{
			"server": s.dsn + "?innodb_lock_wait_timeout=1&lock_wait_timeout=1",
			"slots":  s.dsn + "?innodb_lock_wait_timeout=50", // MySQL's default
		}
		s.test(t)
		t.Run("conflicts", s.mariaDBConflicts)
		t.Run("commits", s.mariaDBCommits)
	})
}

func (s server) test(t *testing.T) {
	cases.Execute(t, s.open(t), cases.NewPair...)
	t.Run("deadlock", s.deadlock)
	t.Run("refusals", s.refusals)
	t.Run("connections", s.connectionsLost)
	t.Run("rows open", s.rowsOpen)
	t.Run("full", s.full)
	t.Run("locked row", s.lockedRow)
	t.Run("swallow", s.swallows)
	t.Run("slow COMMIT", s.slowCommit)
	t.Run("orders", s.orders)
	t.Run("transfers", func(t *testing.T) { cases.Transfers(t, s.open, nil) })
	t.Run("transfers, connections killed", func(t *testing.T) { cases.Transfers(t, s.open, s.killer(t)) })
}

func (s server) open(t *testing.T) *sql.DB { return cases.Open(t, s.driver, s.dsn) }

// via returns a pool of connections through a proxy.
func (s server) via(t *testing.T, p *proxy) *sql.DB {
	return cases.Open(t, s.driver, fmt.Sprintf(s.proxied, p.listener.Addr()))
}

// startPostgres starts a PostgreSQL server, and returns the folder of its socket. It skips the test if there is none.
func startPostgres(t *testing.T) (folder string) {
	initdb := program("initdb", "/usr/lib/postgresql/*/bin")
	if initdb == "" {
		t.Skip("skipped: no PostgreSQL in PATH nor in Debian's folder; Debian's package is postgresql")
	}
	folder = newFolder(t, "postgres")
	var attr syscall.SysProcAttr
	if os.Geteuid() == 0 { // as which PostgreSQL does not run
		nobody, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
		require.NoError(t, errors.Join(err1, err2, os.Chown(folder, int(uid), int(gid))))
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	command := func(path string, args ...string) *exec.Cmd {
		c := exec.Command(path, args...)
		c.Dir, c.SysProcAttr, c.Stderr = folder, &attr, t.Output()
		return c
	}
	require.NoError(t, command(initdb, "-D", "data", "-U", "test", "-A", "trust", "-N", "-E", "UTF8", "--no-locale").Run())
	postgres := command(filepath.Join(filepath.Dir(initdb), "postgres"),
		"-D", "data", "-k", folder, "-h", "", "-F", "-c", "deadlock_timeout=10ms", "-c", "log_min_messages=panic")
	start(t, postgres, syscall.SIGQUIT)

	version := await(t, "pgx", "host="+folder+" user=test dbname=postgres sslmode=disable", "SHOW server_version")
	t.Log("with PostgreSQL", version, "from", filepath.Dir(initdb))
	return folder
}

// startMariaDB starts a MariaDB server, and returns its socket. It skips the test if there is none.
func startMariaDB(t *testing.T) (socket string) {
	mariadbd := program("mariadbd", "/usr/sbin", "/usr/libexec")
	if mariadbd == "" {
		t.Skip("skipped: no MariaDB in PATH nor in /usr/sbin; Debian's package is mariadb-server")
	}
	require.NoError(t, mysql.SetLogger(&mysql.NopLogger{}))
	folder := newFolder(t, "mariadb")
	data := filepath.Join(folder, "data")
	require.NoError(t, os.MkdirAll(filepath.Join(data, "test"), 0o700)) // a database is a folder
	socket = filepath.Join(folder, "s")
	command := exec.Command(mariadbd,
		"--no-defaults", "--skip-grant-tables", "--skip-networking", "--skip-log-bin", "--datadir="+data,
		"--socket="+socket, "--pid-file="+filepath.Join(folder, "pid"),
		"--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=1", "--max-connections=60")
	if os.Geteuid() == 0 {
		command.Args = append(command.Args, "--user=root")
	}
	start(t, command, syscall.SIGKILL)

	version := await(t, "mysql", "root@unix("+socket+")/test", "SELECT version()")
	t.Log("with MariaDB", version, "from", filepath.Dir(mariadbd))
	return socket
}

// program returns the path of a program in PATH or in other folders. It is empty if there is none.
func program(name string, folders ...string) string {
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	for _, folder := range folders {
		found, _ := filepath.Glob(filepath.Join(folder, name))
		if len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// newFolder returns a folder for a server's data. It is not t.TempDir: another user cannot enter that, and its path
// can be too long for a socket.
func newFolder(t *testing.T, name string) string {
	folder, err := os.MkdirTemp("/tmp", name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

// start starts a server, which ends by a signal.
func start(t *testing.T, command *exec.Cmd, signal os.Signal) {
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		command.Process.Signal(signal)
		command.Wait()
	})
}

// await waits until a server answers, and returns its version.
func await(t *testing.T, driver, dsn, query string) (version string) {
	db := cases.Open(t, driver, dsn)
	require.NoError(t, backoff.Retry(
		func() error { return db.QueryRow(query).Scan(&version) },
		backoff.WithMaxRetries(backoff.NewConstantBackOff(20*time.Millisecond), 3000)))
	return version
}

// end ends tx's connection, and returns when it has ended.
func (s server) end(ctx context.Context, admin *sql.DB, tx *sql.Tx) error {
	var id int
	err := tx.QueryRowContext(ctx, s.me).Scan(&id)
	if err != nil {
		return err
	}
	_, err = admin.ExecContext(ctx, fmt.Sprintf(s.kill, id))
	for err == nil {
		var ids []int
		ids, err = s.connections(ctx, admin)
		if !slices.Contains(ids, id) {
			break
		}
	}
	return err
}

// connections returns the numbers of all connections.
func (s server) connections(ctx context.Context, admin *sql.DB) (ids []int, err error) {
	rows, err := admin.QueryContext(ctx, s.all)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// killer returns a function that ends one of the connections of clients.
func (s server) killer(t *testing.T) func() {
	admin := s.open(t)
	return func() {
		ids, err := s.connections(context.Background(), admin)
		if err == nil && len(ids) > 0 {
			_, _ = admin.Exec(fmt.Sprintf(s.kill, ids[rand.IntN(len(ids))]))
		}
	}
}
