//go:build cgo

package sqlretry_test

import (
	"errors"
	"testing"

	mattn "github.com/mattn/go-sqlite3"

	"example.com/backoff/lab/integration/sqlretry/cases"
)

// It needs cgo. The driver of ncruces, which registers the same name, has a package of its own.
func TestMattn(t *testing.T) {
	cases.SQLite{
		Name:    "mattn/go-sqlite3",
		Driver:  &mattn.SQLiteDriver{},
		Options: "_busy_timeout=0&_sync=off&_foreign_keys=on",
		Code: func(err error) int {
			var e mattn.Error
			errors.As(err, &e)
			return int(e.ExtendedCode)
		},
	}.Test(t)
}
