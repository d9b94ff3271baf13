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
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
)

// programs returns the first folder, of PATH or of others, that has all of the programs.
func programs(others []string, names ...string) (folder string, ok bool) {
	folders := append(filepath.SplitList(os.Getenv("PATH")), others...)
	i := slices.IndexFunc(folders, func(folder string) bool {
		var missing error
		for _, name := range names {
			_, err := exec.LookPath(filepath.Join(folder, name))
			missing = errors.Join(missing, err)
		}
		return missing == nil
	})
	if i < 0 {
		return "", false
	}
	return folders[i], true
}

// newFolder returns a folder for a server's data. It is not t.TempDir: another user cannot enter that, and its path
// can be too long for a socket.
func newFolder(t *testing.T, name string) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

// startupWaits is the policy of a wait for a server that starts.
func startupWaits() backoff.BackOff {
	return backoff.WithMaxRetries(backoff.NewConstantBackOff(20*time.Millisecond), 3000)
}

// A mariaDB is a server of the test's own, which listens on a Unix socket alone and knows no passwords.
type mariaDB struct {
	t       *testing.T
	bin     string
	folder  string
	options []string
	process *os.Process
}

func (m *mariaDB) socket() string { return filepath.Join(m.folder, "s") }

// startMariaDB starts a server with more options. It skips the test if there is no MariaDB.
func startMariaDB(t *testing.T, options ...string) *mariaDB {
	t.Helper()
	bin, ok := programs([]string{"/usr/sbin", "/usr/libexec"}, "mariadbd")
	if !ok {
		t.Skip("skipped: no MariaDB in PATH nor in /usr/sbin; Debian's package is mariadb-server")
	}
	m := &mariaDB{t: t, bin: bin, folder: newFolder(t, "mariadb"), options: options}
	require.NoError(t, os.Mkdir(filepath.Join(m.folder, "data"), 0o700))
	m.start()
	t.Cleanup(func() { m.stop(syscall.SIGKILL) })

	db := m.open(t, "unix", m.socket(), "")
	var version string
	require.NoError(t, db.QueryRow("SELECT version()").Scan(&version))
	t.Log("with MariaDB", version, "from", bin)
	cases.Execute(t, db, "CREATE DATABASE IF NOT EXISTS test")
	return m
}

// start starts the server, and waits until it answers.
func (m *mariaDB) start() {
	args := []string{
		"--no-defaults", "--skip-grant-tables", "--skip-networking", "--skip-log-bin",
		"--datadir=" + filepath.Join(m.folder, "data"),
		"--socket=" + m.socket(),
		"--pid-file=" + filepath.Join(m.folder, "pid"),
		"--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=1",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	command := exec.Command(filepath.Join(m.bin, "mariadbd"), append(args, m.options...)...)
	require.NoError(m.t, command.Start())
	m.process = command.Process

	db := m.open(m.t, "unix", m.socket(), "")
	defer db.Close()
	require.NoError(m.t, backoff.Retry(db.Ping, startupWaits()))
}

// stop ends the server by a signal.
func (m *mariaDB) stop(signal os.Signal) {
	m.process.Signal(signal)
	m.process.Wait()
}

// open returns a pool of connections. The driver logs nothing.
func (m *mariaDB) open(t *testing.T, network, address, database string) *sql.DB {
	t.Helper()
	config := mysql.NewConfig()
	config.User = "root"
	config.Net = network
	config.Addr = address
	config.DBName = database
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() }) // its error may be that of a connection that was killed
	return db
}

// A server is a database server, reached by one driver.
type server struct {
	database string // its name
	driver   string // and that of the driver

	// open returns a pool of connections to it.
	open func(t *testing.T) *sql.DB

	// via returns one through a proxy on loopback, and the address that this has to forward to.
	via             func(t *testing.T, address string) *sql.DB
	network, target string

	insert    string               // inserts an order with an id and an item
	duplicate func(err error) bool // reports whether that id is there

	heeds bool   // the driver's statements heed their context
	begin string // what a driver sends to begin a transaction
	me    string // returns the number of a connection
	kill  string // ends the connection of a number
	all   string // returns the numbers of all connections of clients
}

func (s server) name() string { return s.database + ", " + s.driver }

// TestServers runs the tests below with each driver and its server. The servers that are not installed are skipped.
func TestServers(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		config := startPostgres(t)
		for _, s := range []server{pgxServer(config), pqServer(config)} {
			t.Run(s.driver, s.test)
		}
	})
	t.Run("MariaDB", func(t *testing.T) {
		s := mysqlServer(startMariaDB(t))
		t.Run(s.driver, s.test)
	})
}

func (s server) test(t *testing.T) {
	t.Run("errors", func(t *testing.T) { testErrors(t, s) })
	t.Run("swallow", func(t *testing.T) { testSwallows(t, s) })
	t.Run("slow COMMIT", func(t *testing.T) { testSlowCommit(t, s) })
	t.Run("orders", func(t *testing.T) { testOrders(t, s) })
	t.Run("transfers", func(t *testing.T) { cases.Transfers(t, s.open, nil) })
	t.Run("transfers, connections killed", func(t *testing.T) { cases.Transfers(t, s.open, s.killer(t)) })
}

func postgres(config *pgx.ConnConfig) server {
	return server{
		database: "PostgreSQL",
		network:  "unix",
		target:   filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port)),
		insert:   "INSERT INTO orders (id, item) VALUES ($1, $2)",
		duplicate: func(err error) bool {
			var e interface{ SQLState() string }
			return errors.As(err, &e) && e.SQLState() == "23505"
		},
		me:   "SELECT pg_backend_pid()",
		kill: "SELECT pg_terminate_backend(%d, 60000)",
		all:  "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'",
	}
}

func pgxServer(config *pgx.ConnConfig) server {
	s := postgres(config)
	s.driver = "jackc/pgx"
	s.heeds = true
	s.begin = "begin"
	s.open = func(t *testing.T) *sql.DB {
		db := stdlib.OpenDB(*config)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	s.via = func(t *testing.T, address string) *sql.DB {
		proxied, err := pgx.ParseConfig("postgres://test@" + address + "/postgres?sslmode=disable")
		require.NoError(t, err)
		return stdlib.OpenDB(*proxied)
	}
	return s
}

func pqServer(config *pgx.ConnConfig) server {
	open := func(t *testing.T, dsn string) *sql.DB {
		connector, err := pq.NewConnector(dsn)
		require.NoError(t, err)
		return sql.OpenDB(connector)
	}
	s := postgres(config)
	s.driver = "lib/pq"
	s.begin = "begin"
	s.open = func(t *testing.T) *sql.DB {
		db := open(t, "host="+config.Host+" user=test dbname=postgres sslmode=disable")
		t.Cleanup(func() { db.Close() })
		return db
	}
	s.via = func(t *testing.T, address string) *sql.DB {
		return open(t, "postgres://test@"+address+"/postgres?sslmode=disable")
	}
	return s
}

func mysqlServer(m *mariaDB) server {
	return server{
		database: "MariaDB",
		driver:   "go-sql-driver/mysql",
		network:  "unix",
		target:   m.socket(),
		insert:   "INSERT INTO orders (id, item) VALUES (?, ?)",
		duplicate: func(err error) bool {
			var e *mysql.MySQLError
			return errors.As(err, &e) && e.Number == 1062
		},
		heeds: true,
		begin: "start transaction",
		me:    "SELECT connection_id()",
		kill:  "KILL %d",
		all:   "SELECT id FROM information_schema.processlist WHERE user = 'root'",
		open:  func(t *testing.T) *sql.DB { return m.open(t, "unix", m.socket(), "test") },
		via:   func(t *testing.T, address string) *sql.DB { return m.open(t, "tcp", address, "test") },
	}
}

// end ends tx's connection, and returns when it has ended.
func (s server) end(ctx context.Context, admin *sql.DB, tx *sql.Tx) error {
	var id int
	if err := tx.QueryRowContext(ctx, s.me).Scan(&id); err != nil {
		return err
	}
	return s.endConnection(ctx, admin, id)
}

// endConnection ends the connection of a number, and returns when it has ended.
func (s server) endConnection(ctx context.Context, admin *sql.DB, id int) error {
	_, err := admin.ExecContext(ctx, fmt.Sprintf(s.kill, id))
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
		if err != nil || len(ids) == 0 {
			return
		}
		_, _ = admin.Exec(fmt.Sprintf(s.kill, ids[rand.IntN(len(ids))]))
	}
}
