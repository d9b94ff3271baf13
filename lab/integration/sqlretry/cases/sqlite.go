package cases

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// SQLite is a driver of SQLite that opens files, and never waits for a lock of by itself.
type SQLite struct {
	Name    string
	Driver  driver.Driver
	Options string // of its DSN
	Code    func(err error) int
}

// says returns a function that reports whether an error has a code of SQLite.
func (d SQLite) says(code int) func(error) bool {
	return func(err error) bool { return d.Code(err) == code }
}

// The codes of https://www.sqlite.org/rescode.html that ask for a repetition.
const (
	busy         = 5
	locked       = 6
	busySnapshot = 517
)

// A file is a database file, opened by one driver.
type file struct {
	SQLite
	path string
}

func (f file) connector(options string) driver.Connector {
	return dsnConnector{f.Driver, "file:" + f.path + "?" + f.Options + options}
}

// open returns a pool of connections, with more options of a DSN.
func (f file) open(t *testing.T, options string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(f.connector(options))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// newFile returns a file with two rows.
func (d SQLite) newFile(t *testing.T, journal string) file {
	t.Helper()
	f := file{d, filepath.Join(t.TempDir(), "test.db")}
	db := f.open(t, "")
	var mode string
	require.NoError(t, db.QueryRow("PRAGMA journal_mode = "+journal).Scan(&mode))
	require.Equal(t, journal, mode)
	Execute(t, db, NewPair...)
	return f
}

// A dsnConnector is what sql.Open makes of a driver and a DSN.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// Test provokes SQLite's errors, and runs transfers.
func (d SQLite) Test(t *testing.T) {
	t.Run("errors", d.errors)
	for _, journal := range []string{"delete", "wal"} {
		t.Run("transfers, "+journal, func(t *testing.T) { d.transfers(t, journal, 0) })
		t.Run("transfers, connections lost, "+journal, func(t *testing.T) { d.transfers(t, journal, 1.0/100) })
	}
}

// transfers runs Transfers. Each step of the transactions loses its connection at a rate.
func (d SQLite) transfers(t *testing.T, journal string, rate float64) {
	f := d.newFile(t, journal)
	var losing atomic.Bool
	open := func(t *testing.T) *sql.DB {
		t.Helper()
		db := sql.OpenDB(losingConnector{f.connector(""), rate, &losing})
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	disturb := func() { losing.Store(true) }
	if rate == 0 {
		disturb = nil
	}
	Transfers(t, open, disturb)
}

// errors provokes SQLite's errors.
func (d SQLite) errors(t *testing.T) {
	f := d.newFile(t, "delete")
	db := f.open(t, "")
	other := f.open(t, "")

	// Another transaction holds the file.
	holder, err := other.Begin()
	require.NoError(t, err)
	require.NoError(t, Run(t.Context(), holder, Set(1, 2)))
	write := func(ctx context.Context, tx *sql.Tx, _ int) error { return Run(ctx, tx, Set(2, 3)) }
	ErrorCase{Name: "BUSY", F: write, Says: d.says(busy), Between: func() { holder.Rollback() }, Attempts: 2}.Run(t, d.Name, db)

	holder, err = other.Begin()
	require.NoError(t, err)
	require.NoError(t, Run(t.Context(), holder, Set(1, 2)))
	ErrorCase{Name: "BUSY at BEGIN", F: write, Says: d.says(busy), Between: func() { holder.Rollback() }, Attempts: 2}.
		Run(t, d.Name, f.open(t, "&_txlock=immediate"))

	reader, err := other.Begin()
	require.NoError(t, err)
	require.NoError(t, reader.QueryRow("SELECT n FROM pair").Scan(new(int)))
	ErrorCase{Name: "BUSY at COMMIT", F: write, Says: d.says(busy), Between: func() { reader.Rollback() }, Attempts: 2}.
		Run(t, d.Name, db)

	d.busySnapshot(t)
	d.lockedTable(t, db)

	Execute(t, db, "CREATE TABLE child (id INT REFERENCES pair DEFERRABLE INITIALLY DEFERRED)")
	for name, statement := range map[string]string{
		"duplicate key":                   "INSERT INTO pair VALUES (1, 1)",
		"syntax":                          "INSERT pair pair",
		"deferred foreign key, at COMMIT": "INSERT INTO child VALUES (99)",
	} {
		refused := func(ctx context.Context, tx *sql.Tx, _ int) error { return Run(ctx, tx, statement) }
		ErrorCase{Name: name, F: refused, Attempts: 1, Fails: true}.Run(t, d.Name, db)
	}
}

// busySnapshot lets another transaction write between a transaction's read and its write, in WAL mode.
func (d SQLite) busySnapshot(t *testing.T) {
	f := d.newFile(t, "wal")
	other := f.open(t, "")
	ErrorCase{
		Name: "BUSY_SNAPSHOT",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if err := tx.QueryRowContext(ctx, "SELECT n FROM pair").Scan(new(int)); err != nil {
				return err
			}
			if attempt == 1 {
				Execute(t, other, Set(1, 4))
			}
			return Run(ctx, tx, Set(1, 5))
		},
		Says:     d.says(busySnapshot),
		Attempts: 2,
	}.Run(t, d.Name, f.open(t, "&_txlock=deferred"))
}

// lockedTable drops a table that the same connection reads.
func (d SQLite) lockedTable(t *testing.T, db *sql.DB) {
	Execute(t, db, "CREATE TABLE read (n INT)", "INSERT INTO read VALUES (1), (2)")
	ErrorCase{
		Name: "LOCKED",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			if attempt == 1 {
				rows, err := tx.QueryContext(ctx, "SELECT n FROM read")
				if err != nil {
					return err
				}
				defer rows.Close()
				rows.Next()
			}
			return Run(ctx, tx, "DROP TABLE read")
		},
		Says:     d.says(locked),
		Attempts: 2,
	}.Run(t, d.Name, db)
}

// A losingConnector makes connections that are lost now and then while on says so.
type losingConnector struct {
	driver.Connector
	rate float64
	on   *atomic.Bool
}

func (c losingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &losingConn{Conn: conn, losingConnector: c}, nil
}

// A losingConn closes itself at a step of a transaction, which the database then undoes, and fails ever after.
type losingConn struct {
	driver.Conn
	losingConnector
	tx   driver.Tx
	lost bool
}

// lose reports whether the connection is lost.
func (c *losingConn) lose() bool {
	if !c.lost && c.tx != nil && c.on.Load() && rand.Float64() < c.rate {
		c.lost = true
		c.Conn.Close()
	}
	return c.lost
}

func (c *losingConn) IsValid() bool { return !c.lost }

func (c *losingConn) Close() error {
	if c.lost {
		return nil
	}
	return c.Conn.Close()
}

func (c *losingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if c.lose() {
		return nil, driver.ErrBadConn
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	c.tx = tx
	return c, nil
}

func (c *losingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.lose() {
		return nil, driver.ErrBadConn
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *losingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.lose() {
		return nil, driver.ErrBadConn
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// Commit is lost before the COMMIT or after it.
func (c *losingConn) Commit() error {
	if c.lose() {
		return driver.ErrBadConn
	}
	err := c.tx.Commit()
	if c.lose() {
		return driver.ErrBadConn
	}
	c.tx = nil
	return err
}

func (c *losingConn) Rollback() error {
	if c.lose() {
		return driver.ErrBadConn
	}
	err := c.tx.Rollback()
	c.tx = nil
	return err
}
