package sqlretry_test

import (
	"errors"
	"testing"

	"modernc.org/sqlite"

	"example.com/backoff/lab/integration/sqlretry/cases"
)

func TestModernc(t *testing.T) {
	cases.SQLite{
		Name:    "modernc.org/sqlite",
		Driver:  &sqlite.Driver{},
		Options: "_pragma=busy_timeout(0)&_pragma=synchronous(off)&_pragma=foreign_keys(on)",
		Code: func(err error) int {
			var e *sqlite.Error
			errors.As(err, &e)
			return e.Code()
		},
	}.Test(t)
}
