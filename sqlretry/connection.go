package sqlretry

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
)

// connectionSays knows the errors of database/sql, of the network, and of pgx, that say that there is no connection
// to the database, or no longer.
func connectionSays(err error) answer {
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return unrecognised // a wrong name stays wrong
	}
	if errors.Is(err, driver.ErrBadConn) || errors.As(err, new(*net.OpError)) {
		return lost
	}

	// pgx's errors of a connection that it finds closed have this method.
	var unsent interface{ SafeToRetry() bool }
	if errors.As(err, &unsent) && unsent.SafeToRetry() {
		return lost
	}
	return unrecognised
}

// busySays knows, by their texts, the errors of a statement on a connection whose rows are still read. That is a mistake
// of the program, and the same the next time.
func busySays(err error) answer {
	switch text := err.Error(); {
	case text == "busy buffer", strings.HasPrefix(text, "commands out of sync. "): // go-sql-driver/mysql
		return busy
	case text == "pq: there is already a query being processed on this connection",
		text == "pq: unexpected DataRow in simple query execution",
		strings.HasPrefix(text, "pq: unexpected Parse response "):
		return busy
	}

	var unsent interface{ SafeToRetry() bool }
	if errors.As(err, &unsent) && connBusy(err) {
		return busy
	}
	return unrecognised
}

// connBusy reports whether err is pgx's for such a connection. From most methods of its driver it is a
// driver.ErrBadConn.
func connBusy(err error) bool { return strings.HasSuffix(err.Error(), "conn busy") }

// broken reports whether err, which is the driver's and not the program's, says that the connection broke, or that
// it took too long.
func broken(err error) bool {
	signs := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded, context.Canceled}
	return slices.ContainsFunc(signs, func(sign error) bool { return errors.Is(err, sign) }) ||
		hasText(err, invalidConn, "bad connection") // of go-sql-driver/mysql
}

// invalidConn is the text of go-sql-driver/mysql's ErrInvalidConn.
const invalidConn = "invalid connection"

// endOfConnection reports whether err says that the connection is lost, if the ROLLBACK after it failed. Other things
// that the program uses have such errors, too.
func endOfConnection(err, rollback error) bool {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // pgx
		return true
	default:
		return hasText(rollback, invalidConn) && errors.Is(err, rollback)
	}
}

// rolledBack reports whether err, which is a COMMIT's, is what pgx and lib/pq return if an earlier statement has
// failed: the server has rolled the transaction back.
func rolledBack(err error) bool {
	return hasText(err,
		"commit unexpectedly resulted in rollback",
		"pq: could not complete operation in a failed transaction",
		"pq: Could not complete operation in a failed transaction")
}

// hasText reports whether err, or an error that it wraps, has one of the texts.
func hasText(err error, texts ...string) bool {
	for err != nil {
		if slices.Contains(texts, err.Error()) {
			return true
		}
		err = errors.Unwrap(err)
	}
	return false
}
