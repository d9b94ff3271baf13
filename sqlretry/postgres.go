package sqlretry

import (
	"errors"
	"strings"
)

// postgresSays knows the errors of jackc/pgx and lib/pq by a method that no others have by chance.
func postgresSays(err error) answer {
	var e interface{ SQLState() string }
	if !errors.As(err, &e) {
		return unrecognised
	}
	return stateSays(e.SQLState())
}

// stateSays returns what an SQLSTATE says. 40001 and class 08 mean the same to every database that uses it; the
// others are PostgreSQL's.
func stateSays(state string) answer {
	switch state {
	case "40001", "40P01": // serialization failure, deadlock
		return conflict
	case "40003", "08007": // statement completion, transaction resolution unknown
		return unknown
	case "53300": // too many connections
		return full
	case "57P01", "57P02", "57P03": // the server shuts down, has crashed, is starting
		return lost
	case "25P03", "57P05": // the server has ended a connection that was idle for too long
		return lost
	}

	switch {
	case len(state) != 5:
		return unrecognised
	case strings.HasPrefix(state, "08"):
		return lost
	}
	return failed
}
