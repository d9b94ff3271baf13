package sqlretry_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/sijms/go-ora/v2/network"
	"github.com/stretchr/testify/require"

	"example.com/backoff/sqlretry"
)

// Errors that the servers here do not send, or not each time, as values of the drivers' types.
func TestTypes(t *testing.T) {
	conflicts := []error{
		&mysql.MySQLError{Number: 1412},
		&mysql.MySQLError{Number: 9007}, // TiDB
		mssql.RetryableError{},          // a bad connection, at the start of a statement
	}
	for _, number := range []int32{1205, 3960, 41301, 41302, 41305, 41325} {
		conflicts = append(conflicts, mssql.Error{Number: number}, &mssql.Error{Number: number})
	}
	for _, number := range []int{60, 8177} {
		text := fmt.Sprintf("ORA-%05d: refused", number)
		conflicts = append(conflicts, &network.OracleError{ErrCode: number, ErrMsg: text}, &network.OracleError{ErrCode: number})
	}
	for _, err := range conflicts {
		require.True(t, sqlretry.Retryable(fmt.Errorf("pay: %w", err)), "%#v", err)
	}

	for _, err := range []error{
		&mysql.MySQLError{Number: 1062, Message: "Deadlock found"},
		mssql.Error{Number: 2627, Message: "Deadlock"},
		&network.OracleError{ErrCode: 1, ErrMsg: "ORA-00001: after ORA-00060"},

		// lasting faults with codes of lost connections
		&pgconn.PgError{Code: "08P01", Message: "no such user"}, // pgbouncer
		&pq.Error{Code: "08P01", Message: "no such user"},
		&mysql.MySQLError{Number: 1153, SQLState: [5]byte([]byte("08S01"))},

		// rows that are left open
		errors.Join(driver.ErrBadConn, mysql.ErrBusyBuffer),
		errors.Join(driver.ErrBadConn, mysql.ErrPktSync),
		errors.Join(driver.ErrBadConn, mysql.ErrPktSyncMul),
	} {
		require.False(t, sqlretry.Retryable(err), "%#v", err)
	}
}
