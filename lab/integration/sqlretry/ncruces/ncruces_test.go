// Package ncruces_test runs the cases of SQLite with ncruces/go-sqlite3. It stands alone, since mattn/go-sqlite3
// registers the same name.
package ncruces_test

import (
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	"example.com/backoff/lab/integration/sqlretry/cases"
)

func TestSQLite(t *testing.T) {
	cases.SQLite(t, "sqlite3", "_pragma=busy_timeout(0)&_pragma=synchronous(off)&_pragma=foreign_keys(on)")
}
