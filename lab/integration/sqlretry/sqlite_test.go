package sqlretry_test

import (
	"testing"

	_ "github.com/mattn/go-sqlite3" // needs cgo
	_ "modernc.org/sqlite"

	"example.com/backoff/lab/integration/sqlretry/cases"
)

// The driver of ncruces, which registers the name of mattn's, has a package of its own.
func TestSQLite(t *testing.T) {
	t.Run("mattn", func(t *testing.T) {
		cases.SQLite(t, "sqlite3", "_busy_timeout=0&_sync=off&_foreign_keys=on")
	})
	t.Run("modernc", func(t *testing.T) {
		cases.SQLite(t, "sqlite", "_pragma=busy_timeout(0)&_pragma=synchronous(off)&_pragma=foreign_keys(on)")
	})
}
