package cases

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// SQLite provokes the errors of a driver of SQLite, and runs transfers. The options of its DSN say that it does not wait
// for locks by itself.
func SQLite(t *testing.T, driver, options string) {
	for _, journal := range []string{"delete", "wal"} {
		t.Run(journal, func(t *testing.T) {
			file := "file:" + filepath.Join(t.TempDir(), "test.db") + "?" + options
			open := func(t *testing.T) *sql.DB { return Open(t, driver, file+"&_txlock=deferred") }
			db := open(t)
			var mode string
			require.NoError(t, db.QueryRow("PRAGMA journal_mode = "+journal).Scan(&mode))
			require.Equal(t, journal, mode)

			Execute(t, db, NewPair...)
			if journal == "delete" {
				busy(t, db, open(t), Open(t, driver, file+"&_txlock=immediate"))
				refused(t, db)
			} else {
				busySnapshot(t, db, open(t))
			}
			Transfers(t, open, nil)
		})
	}
}

const locked = "database is locked"

// busy has another transaction hold the file, or a table.
func busy(t *testing.T, db, other, immediate *sql.DB) {
	var holder *sql.Tx
	begin := func() {
		var err error
		holder, err = other.Begin()
		require.NoError(t, err)
	}
	release := func() { holder.Rollback() }

	begin()
	require.NoError(t, Run(t.Context(), holder, Set(1, 2)))
	Case{Name: "BUSY", F: Statements(Set(2, 3)), Says: "UPDATE: …" + locked, Between: release}.Run(t, db)

	begin()
	require.NoError(t, Run(t.Context(), holder, Set(1, 2)))
	Case{Name: "BUSY at BEGIN", F: Statements(Set(2, 3)), Says: locked, Between: release}.Run(t, immediate)

	begin()
	require.NoError(t, holder.QueryRow("SELECT n FROM pair").Scan(new(int)))
	Case{Name: "BUSY at COMMIT", F: Statements(Set(2, 3)), Says: "COMMIT: …" + locked, Between: release}.Run(t, db)

	Execute(t, db, "CREATE TABLE read (n INT)", "INSERT INTO read VALUES (1), (2)")
	Case{
		Name: "LOCKED", // by the rows that the same connection reads
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
		Says: "table is locked",
	}.Run(t, db)
}

// refused has errors that stay the same.
func refused(t *testing.T, db *sql.DB) {
	Execute(t, db, "CREATE TABLE child (id INT REFERENCES pair DEFERRABLE INITIALLY DEFERRED)")
	for statement, says := range map[string]string{
		"INSERT INTO pair VALUES (1, 1)": "UNIQUE",
		"INSERT pair pair":               "syntax error",
		"INSERT INTO child VALUES (99)":  "COMMIT: …FOREIGN KEY",
	} {
		Case{Name: statement, F: Statements(statement), Says: says, Outcome: Returned}.Run(t, db)
	}
}

// busySnapshot lets another transaction write between a transaction's read and its write.
func busySnapshot(t *testing.T, db, other *sql.DB) {
	Case{
		Name: "BUSY_SNAPSHOT",
		F: func(ctx context.Context, tx *sql.Tx, attempt int) error {
			err := tx.QueryRowContext(ctx, "SELECT n FROM pair").Scan(new(int))
			if err != nil {
				return err
			}
			if attempt == 1 {
				Execute(t, other, Set(1, 4))
			}
			return Run(ctx, tx, Set(1, 5))
		},
		Says: locked,
	}.Run(t, db)
}
