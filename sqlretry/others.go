package sqlretry

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// sqlServerSays knows the errors of microsoft/go-mssqldb by a method that no others have by chance.
func sqlServerSays(err error) answer {
	var e interface{ SQLErrorNumber() int32 }
	if !errors.As(err, &e) {
		return unrecognised
	}

	switch e.SQLErrorNumber() {
	case 1205, 3960: // deadlock, snapshot conflict
		return conflict
	case 41301, 41302, 41305, 41325: // conflicts of memory-optimized tables
		return conflict
	case 40197, 40501, 40613, 49918, 49919, 49920: // Azure: the database is busy, or moves
		return full
	}

	// After an error of class 20 and above the server has ended the connection.
	var fatal interface{ SQLErrorClass() uint8 }
	if errors.As(err, &fatal) && fatal.SQLErrorClass() >= 20 {
		return unknown
	}
	return failed
}

// oracleSays knows the errors of sijms/go-ora and godror. They begin with ORA- and the number that a field or a method
// also has.
func oracleSays(err error) answer {
	digits, found := strings.CutPrefix(err.Error(), "ORA-")
	if !found {
		return unrecognised
	}
	end := strings.IndexFunc(digits+":", func(r rune) bool { return r < '0' || r > '9' })
	number, parseErr := strconv.ParseInt(digits[:end], 10, 64)
	code, ok := oracleCode(err)
	if parseErr != nil || !ok || code != number {
		return unrecognised
	}

	switch number {
	case 60, 8177: // deadlock, serialization failure
		return conflict
	case 2050, 2053, 2054: // distributed transaction in doubt
		return unknown
	case 28, 1012, 1033, 1034, 1089, 3113, 3114, 3135, 12528, 12537: // session killed, instance not there, connection closed
		return lost
	}
	return failed
}

func oracleCode(err error) (code int64, ok bool) {
	coded, ok := err.(interface{ Code() int }) // godror
	if ok {
		return int64(coded.Code()), true
	}
	v := field(err, "ErrCode") // go-ora
	if v.CanInt() {
		return v.Int(), true
	}
	return 0, false
}

// isSpanner reports whether a driver is googleapis/go-sql-spanner's.
func isSpanner(driver any) bool {
	t := reflect.TypeOf(driver)
	return t != nil && strings.TrimPrefix(t.String(), "*") == "spannerdriver.Driver"
}

// spannerSays knows Spanner's errors by their gRPC status. They are looked for only if the database is Spanner: an
// error of a gRPC call that f makes is no reason.
func spannerSays(err error) answer {
	status := result(reflect.ValueOf(err).MethodByName("GRPCStatus"))
	if !status.IsValid() {
		return unrecognised
	}
	code := result(status.MethodByName("Code"))
	if !code.CanUint() {
		return unrecognised
	}

	switch code.Uint() {
	case 10: // Aborted
		return conflict
	case 1, 2, 4, 13, 14: // Canceled, Unknown, DeadlineExceeded, Internal, Unavailable
		return unknown
	}
	return failed
}

// result returns what a method returns that has no arguments and one result.
func result(method reflect.Value) reflect.Value {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return reflect.Value{}
	}
	return method.Call(nil)[0]
}
