package sqlretry_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/sijms/go-ora/v2/network"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/backoff/sqlretry"
)

// Conflicts, as values of the types of drivers whose servers do not run here.
func TestTypes(t *testing.T) {
	for _, number := range []int32{1205, 3960, 41301, 41302, 41305, 41325} {
		require.True(t, sqlretry.Retryable(mssql.Error{Number: number}), number)
		require.True(t, sqlretry.Retryable(fmt.Errorf("pay: %w", &mssql.Error{Number: number})), number)
	}
	for _, number := range []int{60, 8177} {
		text := fmt.Sprintf("ORA-%05d: refused", number)
		require.True(t, sqlretry.Retryable(&network.OracleError{ErrCode: number, ErrMsg: text}), number)
		require.True(t, sqlretry.Retryable(&network.OracleError{ErrCode: number}), "without a message: %d", number)
	}
	require.True(t, sqlretry.Retryable(&mysql.MySQLError{Number: 9007}), "TiDB")
	require.True(t, sqlretry.Retryable(&pq.Error{Code: "40001"}))
	require.True(t, sqlretry.Retryable(mssql.RetryableError{}), "a bad connection, at the start of a statement")
}

// What go-sql-driver/mysql says of rows that are left open. The server's tests have the first.
func TestRowsOpen(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	for _, want := range []error{mysql.ErrBusyBuffer, mysql.ErrPktSync, mysql.ErrPktSyncMul} {
		calls := 0
		err := sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(context.Context, *sql.Tx) error {
			calls++
			return fmt.Errorf("insert: %w", errors.Join(driver.ErrBadConn, want))
		})
		require.ErrorContains(t, err, "rows of an earlier query are open: ")
		require.ErrorIs(t, err, want)
		require.Equal(t, 1, calls)
	}
}

// userError is an error of an application.
type userError struct {
	Code, Number int
	Message      string
}

func (e *userError) Error() string { return e.Message }

// codedError is another.
type codedError int

func (e codedError) Error() string { return "no such user" }
func (e codedError) Code() int     { return int(e) }

// otherErrors are errors of other libraries and applications, and answers of databases that stay the same.
func otherErrors(t *testing.T) []error {
	t.Helper()
	_, missing := os.Open("missing")
	_, number := strconv.Atoi("x")
	_, address := net.ResolveTCPAddr("tcp", "no port")
	errs := []error{
		missing, number, address,
		json.Unmarshal([]byte("{"), new(int)),
		json.Unmarshal([]byte(`"x"`), new(int)),
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, io.ErrShortWrite,
		fs.ErrNotExist, os.ErrDeadlineExceeded, os.ErrProcessDone,
		sql.ErrNoRows, sql.ErrConnDone, driver.ErrSkip, driver.ErrRemoveArgument,
		http.ErrBodyNotAllowed, http.ErrServerClosed, http.ErrHandlerTimeout, http.ErrNoCookie,
		net.ErrClosed, &net.AddrError{Err: "missing port"}, &net.ParseError{Type: "IP"}, net.UnknownNetworkError("x"),
		&net.DNSError{IsNotFound: true}, &net.DNSError{IsTimeout: true}, &net.DNSError{IsTemporary: true},
		context.Canceled, context.DeadlineExceeded,
		mysql.ErrInvalidConn, mysql.ErrMalformPkt,
		driver.ErrBadConn,
	}
	for errno := range syscall.Errno(35) {
		operation := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", errno+1)}
		errs = append(errs, operation, &url.Error{Op: "Get", URL: "http://service", Err: operation})
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		errs = append(errs, status.Error(code, "database is locked"))
	}
	for _, number := range []uint16{1022, 1045, 1046, 1048, 1054, 1062, 1064, 1146, 1216, 1217, 1264, 1290, 1292, 1317, 1364, 1366,
		1406, 1451, 1452, 1644, 1690, 3024, 3572, 3819, 8501} {
		errs = append(errs, &mysql.MySQLError{Number: number, Message: "Deadlock found"})
	}
	for _, state := range []string{"02000", "0A000", "21000", "22001", "22003", "22012", "23502", "23503", "23505", "23514", "25006", "25P02",
		"28000", "28P01", "3D000", "40002", "40003", "42501", "42601", "42703", "42P01", "53100", "53200", "54000", "55006", "55P03",
		"57014", "58030", "P0001", "XX000"} {
		errs = append(errs, &pq.Error{Code: pqerror.Code(state)}, &pgconn.PgError{Code: state})
	}
	for _, number := range []int32{102, 156, 207, 208, 245, 515, 547, 1222, 2601, 2627, 8152, 18456} {
		errs = append(errs, mssql.Error{Number: number, Message: "Deadlock"})
	}
	for _, number := range []int{1, 54, 904, 942, 1017, 1400, 1403, 1438, 2290, 2291, 2292, 12899} {
		errs = append(errs, &network.OracleError{ErrCode: number, ErrMsg: fmt.Sprintf("ORA-%05d: after ORA-00060", number)})
	}
	for _, text := range []string{"database is locked", "database is locked (5)", "invalid connection", "ORA-00060: deadlock detected",
		"Error 1213 (40001): Deadlock found", "SQLSTATE 40001"} {
		errs = append(errs, errors.New(text), &userError{5, 1213, text}, fmt.Errorf("%s: %w", text, codedError(5)))
	}
	return errs
}

// None of them is a reason to repeat a transaction whose connection is there.
func TestFalsePositives(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	errs := otherErrors(t)
	require.GreaterOrEqual(t, len(errs), 200)
	for _, want := range errs {
		calls := 0
		err := sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(context.Context, *sql.Tx) error {
			calls++
			return want
		})
		require.ErrorContains(t, err, want.Error())
		require.Equal(t, 1, calls, "%T %[1]v", want)
	}
	t.Log(len(errs), "errors, none repeated")
}
