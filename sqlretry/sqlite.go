package sqlretry

import (
	"errors"
	"fmt"
	"strings"
)

// sqliteSays knows the errors of three drivers. A small code alone is no evidence: applications and other drivers
// number their errors, too. SQLite's errors also say so in SQLite's words.
func sqliteSays(err error) answer {
	code, text, ok := sqliteCode(err)
	if !ok {
		return unrecognised
	}

	// The exact codes, not the low byte: Oracle's 2053 and 2054 (transaction in doubt) end in 5 and 6.
	switch code {
	case 5, 261, 517, 773: // SQLITE_BUSY, _RECOVERY, _SNAPSHOT, _TIMEOUT
		if strings.Contains(text, "database is locked") {
			return conflict
		}
	case 6, 262, 518: // SQLITE_LOCKED, _SHAREDCACHE, _VTAB
		if strings.Contains(text, "database table is locked") || strings.Contains(text, "database schema is locked") {
			return conflict
		}
	}
	return failed
}

// sqliteCode returns the code and the text of an error that may be SQLite's.
func sqliteCode(err error) (code int64, text string, ok bool) {
	// modernc.org/sqlite has a method, and the code in the text: "database is locked (5) (SQLITE_BUSY)".
	var coded interface {
		error
		Code() int
	}
	if errors.As(err, &coded) && strings.Contains(coded.Error(), fmt.Sprintf("(%d)", coded.Code())) {
		return int64(coded.Code()), coded.Error(), true
	}

	// mattn/go-sqlite3 has fields.
	primary := field(err, "Code")
	extended := field(err, "ExtendedCode")
	if primary.CanInt() && extended.CanInt() {
		return primary.Int(), err.Error(), true
	}

	// ncruces/go-sqlite3 has a prefix, these methods, and no code that can be read without importing it.
	var timed interface {
		error
		Temporary() bool
		Timeout() bool
	}
	if !errors.As(err, &timed) || !strings.HasPrefix(timed.Error(), "sqlite3: ") {
		return 0, "", false
	}
	switch text := strings.TrimPrefix(timed.Error(), "sqlite3: "); {
	case timed.Temporary() && strings.HasPrefix(text, "database is locked"):
		return 5, text, true
	case strings.HasPrefix(text, "database table is locked"):
		return 6, text, true
	default:
		return 1, text, true // another error
	}
}
