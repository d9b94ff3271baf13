package sqlretry_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
	"example.com/backoff/sqlretry/testdata/spannerdriver"
)

// The types below have the names, the methods and the texts of the drivers' errors. lab/integration has the drivers.

// mysqlError is go-sql-driver/mysql's.
type mysqlError struct {
	Number   uint16
	SQLState [5]byte
	Message  string
}

func (e *mysqlError) Error() string {
	return fmt.Sprintf("Error %d (%s): %s", e.Number, e.SQLState[:], e.Message)
}

func mysql(number uint16, state string) error {
	e := &mysqlError{Number: number}
	copy(e.SQLState[:], state)
	return e
}

// planError is the error of the PostgreSQL drivers with the fields that count.
type planError struct{ Code, Message, Routine string }

func (e *planError) Error() string    { return "ERROR: " + e.Message + " (SQLSTATE " + e.Code + ")" }
func (e *planError) SQLState() string { return e.Code }

// notPlanErrors have a Routine of another type, or none.
type (
	routineNumber struct {
		stateError
		Routine int
	}
	routineLess struct{ *planError }
)

var errInvalidConn = errors.New("invalid connection") // mysql.ErrInvalidConn

// mattnError is mattn/go-sqlite3's, a value.
type mattnError struct {
	Code, ExtendedCode mattnCode
	SystemErrno        syscall.Errno
	err                string
}

type mattnCode int

func (e mattnError) Error() string { return e.err }

// ncrucesError is ncruces/go-sqlite3's.
type ncrucesError struct {
	text string
	busy bool
}

func (e *ncrucesError) Error() string   { return "sqlite3: " + e.text }
func (e *ncrucesError) Temporary() bool { return e.busy }
func (e *ncrucesError) Timeout() bool   { return false }

// mssqlError is microsoft/go-mssqldb's, a value.
type mssqlError struct {
	Number int32
	Class  uint8
}

func (e mssqlError) Error() string         { return fmt.Sprintf("mssql: refused (%d)", e.Number) }
func (e mssqlError) SQLErrorNumber() int32 { return e.Number }
func (e mssqlError) SQLErrorClass() uint8  { return e.Class }

// goOraError is sijms/go-ora's.
type goOraError struct {
	ErrCode int
	ErrMsg  string
}

func (e *goOraError) Error() string { return e.ErrMsg + " error occur at position: 0" }

// godrorError is godror's.
type godrorError int

func (e godrorError) Error() string { return fmt.Sprintf("ORA-%05d: refused", int(e)) }
func (e godrorError) Code() int     { return int(e) }

// spannerError has a gRPC status.
type spannerError uint32

type grpcStatus struct{ code spannerError }

func (e spannerError) Error() string           { return fmt.Sprintf("spanner: code = %d", e) }
func (e spannerError) GRPCStatus() *grpcStatus { return &grpcStatus{e} }
func (s *grpcStatus) Code() spannerError       { return s.code }

// notSpannerErrors have a method of that name, too.
type (
	statusWithArgument struct{ error }
	statusWithoutCode  struct{ error }
)

func (statusWithArgument) GRPCStatus(int) *grpcStatus { return nil }
func (statusWithoutCode) GRPCStatus() string          { return "10" }

// A kind of error is what happens after it in each step.
type kind struct {
	begin, statement, lostStatement, commit bool // repeated
	unknown                                 bool // the outcome of the COMMIT
	asked                                   bool // Retryable is asked after the COMMIT
}

var (
	conflict     = kind{begin: true, statement: true, lostStatement: true, commit: true, asked: true}
	lost         = kind{begin: true, lostStatement: true, unknown: true}
	full         = kind{begin: true, unknown: true}
	unknown      = kind{unknown: true}
	failed       = kind{asked: true}
	unrecognised = kind{unknown: true, asked: true}
	broken       = kind{begin: true, lostStatement: true, unknown: true} // where it is the driver's
	brokenAlone  = kind{begin: true, unknown: true}
)

// Each error in each step: in a BEGIN, in a statement whose connection is there or lost, and in a COMMIT.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		err  error
		want kind
	}{
		// PostgreSQL
		{stateError("40001"), conflict},
		{stateError("40P01"), conflict},
		{stateError("40003"), unknown},
		{stateError("08007"), unknown},
		{stateError("08006"), lost},
		{stateError("57P01"), lost},
		{stateError("57P02"), lost},
		{stateError("57P03"), lost},
		{stateError("25P03"), lost},
		{stateError("57P05"), lost},
		{stateError("25P04"), lost},
		{stateError("53300"), full},
		{stateError("XXA00"), unknown}, // CockroachDB
		{&planError{"0A000", "cached plan must not change result type", "RevalidateCachedQuery"}, conflict},
		{&planError{"0A000", "der Plan darf den Ergebnistyp nicht ändern", "RevalidateCachedQuery"}, conflict},
		{&planError{"0A000", "cached plan must not change result type", "another"}, failed},
		{&planError{"42P01", "no such table", "RevalidateCachedQuery"}, failed},
		{&routineNumber{"0A000", 1}, failed},
		{&routineLess{&planError{Code: "0A000"}}, failed},
		{stateError("0A000"), failed},
		{stateError("55P03"), failed},                                       // lock not available
		{stateError("57014"), failed},                                       // statement cancelled
		{stateError("23503"), failed},                                       // a deferred constraint
		{stateError("25P02"), failed},                                       // in a failed transaction
		{&planError{"08P01", "password authentication failed", ""}, failed}, // pgbouncer
		{&planError{"08P01", "SASL authentication failed", ""}, failed},
		{&planError{"08P01", "no such user", ""}, failed},
		{&planError{"08P01", "no such database: shop", ""}, failed},
		{&planError{"08P01", "unsupported startup parameter: lock_timeout", ""}, failed},
		{&planError{"08P01", "query_wait_timeout", ""}, lost},
		{&planError{"08P01", "no more connections allowed (max_client_conn)", ""}, lost},
		{stateError("08P01"), lost},
		{stateError("500"), unrecognised},
		{errors.New("commit unexpectedly resulted in rollback"), kind{asked: true}},
		{errors.New("pq: could not complete operation in a failed transaction"), kind{asked: true}},
		{errors.New("pq: Could not complete operation in a failed transaction"), kind{asked: true}},

		// MySQL
		{mysql(1213, "40001"), conflict},
		{mysql(1205, "HY000"), conflict},
		{mysql(1020, "HY000"), conflict},
		{mysql(1412, "HY000"), conflict},
		{mysql(3101, "40000"), conflict},
		{mysql(8002, "HY000"), conflict},
		{mysql(8022, "HY000"), conflict},
		{mysql(8028, "HY000"), conflict},
		{mysql(9007, "HY000"), conflict},
		{mysql(4711, "40001"), conflict},
		{mysql(8501, "HY000"), unknown},
		{mysql(1040, "08004"), full},
		{mysql(1040, ""), full},
		{mysql(1203, "42000"), full},
		{mysql(1053, "08S01"), lost},
		{mysql(1927, "70100"), lost},
		{mysql(3169, "HY000"), lost},
		{mysql(4031, "HY000"), lost},
		{mysql(2006, "HY000"), lost},
		{mysql(2013, "HY000"), lost},
		{mysql(1105, "HY000"), unknown},
		{mysql(1317, "70100"), unknown},
		{mysql(1153, "08S01"), failed},
		{mysql(1062, "23000"), failed},
		{errInvalidConn, broken},
		{errors.New("bad connection"), brokenAlone},
		{fmt.Errorf("wrapped: %w", errInvalidConn), brokenAlone},

		// SQLite
		{&codeError{5, "database is locked (5) (SQLITE_BUSY)", nil}, conflict},
		{&codeError{787, "constraint failed: FOREIGN KEY constraint failed (787)", nil}, failed},
		{mattnError{Code: 5, ExtendedCode: 5, err: "database is locked"}, conflict},
		{mattnError{Code: 5, ExtendedCode: 517, err: "database is locked"}, conflict},
		{mattnError{Code: 6, ExtendedCode: 6, err: "database table is locked: counter"}, conflict},
		{mattnError{Code: 6, ExtendedCode: 6, err: "database schema is locked: main"}, conflict},
		{&mattnError{Code: 6, ExtendedCode: 262, err: "database table is locked"}, conflict},
		{mattnError{Code: 19, ExtendedCode: 787, err: "FOREIGN KEY constraint failed"}, failed},
		{&ncrucesError{"database is locked", true}, conflict},
		{&ncrucesError{"database table is locked", false}, conflict},
		{&ncrucesError{"interrupted", true}, failed},
		{&ncrucesError{"constraint failed", false}, failed},

		// SQL Server
		{mssqlError{Number: 1205, Class: 13}, conflict},
		{mssqlError{Number: 3960, Class: 16}, conflict},
		{mssqlError{Number: 41301}, conflict},
		{mssqlError{Number: 41302}, conflict},
		{mssqlError{Number: 41305}, conflict},
		{mssqlError{Number: 41325}, conflict},
		{mssqlError{Number: 40197}, full},
		{mssqlError{Number: 40501}, full},
		{mssqlError{Number: 40613}, full},
		{mssqlError{Number: 49918}, full},
		{mssqlError{Number: 49919}, full},
		{mssqlError{Number: 49920}, full},
		{mssqlError{Number: 2627, Class: 14}, failed},
		{mssqlError{Number: 596, Class: 21}, unknown}, // the session has been killed
		{mssqlError{Number: 4711, Class: 20}, unknown},
		{mssqlError{Number: 4711, Class: 19}, failed},

		// Oracle
		{&goOraError{60, "ORA-00060: deadlock detected"}, conflict},
		{&goOraError{8177, "ORA-8177"}, conflict},
		{&goOraError{3113, "ORA-03113: end-of-file"}, lost},
		{&goOraError{2054, "ORA-02054: in-doubt"}, unknown},
		{&goOraError{1, "ORA-00001: unique constraint"}, failed},
		{&goOraError{61, "ORA-00060: of another number"}, unrecognised},
		{godrorError(60), conflict},
		{godrorError(8177), conflict},
		{&codeError{60, "ORA-00060", nil}, conflict}, // the number alone
		{godrorError(2050), unknown},
		{godrorError(2053), unknown},
		{godrorError(28), lost},
		{godrorError(1012), lost},
		{godrorError(1033), lost},
		{godrorError(1034), lost},
		{godrorError(1089), lost},
		{godrorError(3114), lost},
		{godrorError(3135), lost},
		{godrorError(12528), lost},
		{godrorError(12537), lost},
		{godrorError(1), failed},

		// of every driver
		{driver.ErrBadConn, lost},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, lost},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, unrecognised},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsTemporary: true}}, lost},
		{closedError(true), lost},
		{busyError{}, unrecognised},
		{io.EOF, broken},
		{io.ErrUnexpectedEOF, broken},
		{os.ErrDeadlineExceeded, brokenAlone},
		{context.DeadlineExceeded, brokenAlone},
		{sql.ErrTxDone, unknown},
		{errors.New("no such user"), unrecognised},
	} {
		name := fmt.Sprintf("%T %[1]v", test.err)
		require.Equal(t, test.want.begin, repeated(t, &database{begin: test.err}, enter), "%s in BEGIN", name)

		f := func(context.Context, *sql.Tx) error { return fmt.Errorf("statement: %w", test.err) }
		require.Equal(t, test.want.statement, repeated(t, new(database), f), "%s in a statement", name)
		gone := &database{undo: errors.New("connection closed")}
		if test.err == errInvalidConn {
			gone.undo = test.err
		}
		require.Equal(t, test.want.lostStatement, repeated(t, gone, f), "%s in a statement, and the ROLLBACK fails", name)

		d := &database{commit: test.err, rollback: true}
		require.Equal(t, test.want.commit, repeated(t, d, enter), "%s in COMMIT", name)
		asked := false
		err := sqlretry.Do(context.Background(), open(t, d), sqlretry.Options{
			Policy: threeRetries,
			Retryable: func(err error) bool {
				require.ErrorIs(t, err, test.err)
				require.Regexp(t, `^(COMMIT|outcome of the COMMIT is unknown): `, err.Error())
				asked = true
				return false
			},
		}, enter)
		require.ErrorIs(t, err, test.err)
		require.Equal(t, test.want.unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown), "%s in COMMIT: outcome unknown", name)
		require.Equal(t, test.want.asked, asked, "%s in COMMIT: asked", name)
		if test.want.unknown {
			require.False(t, sqlretry.Retryable(err), name)
		}
	}
}

// repeated reports whether a transaction is repeated on a database that fails each time.
func repeated(t *testing.T, d driver.Connector, f func(ctx context.Context, tx *sql.Tx) error) bool {
	t.Helper()
	attempts := 0
	err := sqlretry.Do(context.Background(), open(t, d), sqlretry.Options{
		Policy: threeRetries,
		Done:   func(_ context.Context, n int, _ error) { attempts = n },
	}, f)
	require.Error(t, err)
	require.Contains(t, []int{1, 4}, attempts)
	require.Equal(t, attempts == 4, errors.Is(err, backoff.ErrRetriesExhausted))
	return attempts == 4
}

// A Retryable of the user's that calls the function Retryable repeats what is repeated without it.
func TestRetryableKnows(t *testing.T) {
	for _, test := range []struct {
		name string
		d    *database
		f    func(context.Context, *sql.Tx) error
	}{
		{"full", &database{begin: stateError("53300")}, enter},
		{"no connection", &database{begin: io.ErrUnexpectedEOF}, enter},
		{"lost", &database{undo: errInvalidConn}, func(context.Context, *sql.Tx) error { return errInvalidConn }},
		{"COMMIT", &database{commit: mysql(1213, "40001"), rollback: true}, enter},
	} {
		t.Run(test.name, func(t *testing.T) {
			attempts := 0
			err := sqlretry.Do(context.Background(), open(t, test.d), sqlretry.Options{
				Policy:    threeRetries,
				Retryable: sqlretry.Retryable,
				Done:      func(_ context.Context, n int, _ error) { attempts = n },
			}, test.f)
			require.Error(t, err)
			require.Equal(t, 4, attempts)
		})
	}
}

// spannerDatabase is a database whose driver has Spanner's name.
type spannerDatabase struct{ *database }

func (spannerDatabase) Driver() driver.Driver { return &spannerdriver.Driver{} }

// otherDatabase is a database whose driver has another name.
type otherDatabase struct{ *database }

func (otherDatabase) Driver() driver.Driver { return struct{ driver.Driver }{} }

func TestSpanner(t *testing.T) {
	for _, test := range []struct {
		err     error
		calls   int
		unknown bool
	}{
		{spannerError(10), 4, false},
		{fmt.Errorf("pay: %w", spannerError(10)), 4, false},
		{spannerError(6), 1, false}, // AlreadyExists
		{spannerError(1), 1, true},  // Canceled
		{spannerError(2), 1, true},  // Unknown
		{spannerError(4), 1, true},  // DeadlineExceeded
		{spannerError(13), 1, true}, // Internal
		{spannerError(14), 1, true}, // Unavailable
		{stateError("40001"), 4, false},
		{statusWithArgument{io.EOF}, 1, true},
		{statusWithoutCode{io.EOF}, 1, true},
	} {
		d := &database{commit: test.err, rollback: true}
		calls := 0
		f := func(ctx context.Context, tx *sql.Tx) error {
			calls++
			return enter(ctx, tx)
		}
		o := sqlretry.Options{Policy: threeRetries}
		err := sqlretry.Do(context.Background(), open(t, spannerDatabase{d}), o, f)
		require.ErrorIs(t, err, test.err)
		require.Equal(t, test.calls, calls, "%v", test.err)
		require.Equal(t, test.unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown))
	}

	require.False(t, repeated(t, spannerDatabase{&database{begin: spannerError(14)}}, enter), "Unavailable in BEGIN")

	// A gRPC call of f is no reason where the database is another.
	abort := func(context.Context, *sql.Tx) error { return spannerError(10) }
	require.False(t, repeated(t, new(database), abort))
	require.False(t, repeated(t, otherDatabase{new(database)}, abort))
	require.False(t, sqlretry.Retryable(spannerError(10)))
}

// Types of applications, which look like the drivers'.
type (
	numberError   struct{ Number uint16 }
	intNumber     struct{ Number int }
	stateField    struct{ Number, SQLState uint16 }
	stringState   struct{ SQLState string }
	otherArray    struct{ Number, SQLState [5]byte }
	unexported    struct{ number uint16 }
	codeField     struct{ Code int }
	stringCode    struct{ Code, ExtendedCode string }
	oraCode       struct{ ErrCode string }
	errorNumber   int32
	mapError      map[string]int
	funcError     func() string
	temporary     struct{ error }
	embedsMySQL   struct{ *mysqlError }
	embedsState   struct{ *statePointer }
	statePointer  struct{ state string }
	panics        struct{}
	panicsToo     struct{}
	unwrapsToNil  struct{ error }
	unwrapsToNils struct{ error }
)

func (numberError) Error() string           { return "Error 1213 (40001): Deadlock found" }
func (intNumber) Error() string             { return "Error 1213 (40001): Deadlock found" }
func (stateField) Error() string            { return "Error 1213 (40001): Deadlock found" }
func (stringState) Error() string           { return "SQLSTATE 40001" }
func (otherArray) Error() string            { return "Error 1213 (40001)" }
func (e unexported) Error() string          { return fmt.Sprint("Error ", e.number) }
func (codeField) Error() string             { return "database is locked" }
func (stringCode) Error() string            { return "database is locked" }
func (oraCode) Error() string               { return "ORA-00060: deadlock detected" }
func (e errorNumber) Error() string         { return "1205" }
func (e errorNumber) SQLErrorNumber() int64 { return int64(e) }
func (e mapError) Error() string            { return "database is locked" }
func (e funcError) Error() string           { return e() }
func (temporary) Temporary() bool           { return true }
func (temporary) Timeout() bool             { return true }
func (e *statePointer) Error() string       { return "state" }
func (e *statePointer) SQLState() string    { return e.state }
func (embedsMySQL) Error() string           { return "embeds" }
func (embedsState) Error() string           { return "embeds" }
func (panics) Error() string                { return "panics" }
func (panics) SQLState() string             { panic("bug") }
func (panicsToo) Error() string             { panic("bug") }
func (panicsToo) Is(target error) bool      { return target == driver.ErrBadConn }
func (unwrapsToNil) Unwrap() error          { return nil }
func (unwrapsToNils) Unwrap() []error       { return []error{nil, nil} }

// Errors that look like those of drivers, and errors whose methods or fields cannot be read.
func TestFalsePositives(t *testing.T) {
	for _, err := range []error{
		numberError{1213},
		&numberError{1213},
		intNumber{1213},
		stateField{1213, 40001},
		stringState{"40001"},
		otherArray{},
		unexported{1213},
		mysql(1062, "23000"),
		errInvalidConn,
		fmt.Errorf("pool: %w", errors.New("invalid connection")),
		errors.New("Error 1213 (40001): Deadlock found when trying to get lock"),

		codeField{5},
		stringCode{"5", "5"},
		&codeError{5, "no such user", nil},
		&codeError{5, "database is locked", nil}, // without SQLite's code in the text
		&codeError{6, "account is locked (6)", nil},
		fmt.Errorf("database is locked (5): %w", &codeError{5, "no such user", nil}),
		mattnError{Code: 5, err: "account is locked"},
		mattnError{Code: 6, err: "account is locked"},
		errors.New("database is locked"),
		errors.New("sqlite3: database is locked"),
		temporary{errors.New("database is locked")},
		&ncrucesError{"database is locked", false},

		oraCode{"60"},
		&goOraError{61, "ORA-00060: deadlock detected"},
		&goOraError{60, "after ORA-00060"},
		&goOraError{60, "ORA-x"},
		&codeError{60, "after ORA-00060: deadlock detected", nil},
		&codeError{60, "60: deadlock detected", nil},
		errors.New("ORA-00060: deadlock detected"),
		errors.New("ORA-"),

		errorNumber(1205),
		mssqlError{Number: 1222}, // lock request timeout
		stateError("4000"),
		stateError("400010"),
		mapError{"Number": 1213},
		mapError(nil),
		funcError(func() string { return "database is locked" }),

		(*mysqlError)(nil),
		(*goOraError)(nil),
		(*statePointer)(nil),
		embedsMySQL{},
		&embedsMySQL{},
		embedsState{},
		panics{},
		unwrapsToNil{io.EOF},
		unwrapsToNils{io.EOF},
	} {
		name := fmt.Sprintf("%#v", err)
		require.False(t, sqlretry.Retryable(err), name)
		require.False(t, repeated(t, new(database), func(context.Context, *sql.Tx) error { return err }), name)
	}

	// But these are the drivers'.
	require.True(t, sqlretry.Retryable(embedsMySQL{mysql(1213, "40001").(*mysqlError)}))
	require.True(t, sqlretry.Retryable(embedsState{&statePointer{"40001"}}))
	require.True(t, sqlretry.Retryable(panicsToo{}), "one method panics, another answers")
	require.True(t, sqlretry.Retryable(errors.Join(panics{}, stateError("40001"))))
}
