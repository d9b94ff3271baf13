// Package spannerdriver stands in for that of googleapis/go-sql-spanner in tests.
package spannerdriver

import (
	"database/sql/driver"
	"errors"
)

// Driver has the name of Spanner's.
type Driver struct{}

// Open fails.
func (*Driver) Open(string) (driver.Conn, error) { return nil, errors.New("not needed") }
