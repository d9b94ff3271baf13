// Package ncruces_test runs the cases of SQLite with ncruces/go-sqlite3. It stands alone, since mattn/go-sqlite3
// registers the same name.
package ncruces_test

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"example.com/backoff/lab/integration/sqlretry/cases"
)

func TestSQLite(t *testing.T) {
	cases.SQLite{
		Name:    "ncruces/go-sqlite3",
		Driver:  &driver.SQLite{},
		Options: "_pragma=busy_timeout(0)&_pragma=synchronous(off)&_pragma=foreign_keys(on)",
		Code: func(err error) int {
			var code sqlite3.ExtendedErrorCode
			errors.As(err, &code)
			return int(code)
		},
	}.Test(t)
}
