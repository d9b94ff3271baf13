package sqlretry

import (
	"errors"
	"slices"
	"strings"
)

// postgresSays knows the errors of jackc/pgx and lib/pq by a method that no others have by chance.
func postgresSays(err error) answer {
	var e interface {
		error
		SQLState() string
	}
	if !errors.As(err, &e) {
		return unrecognised
	}
	switch state := e.SQLState(); {
	case state == "0A000" && stalePlan(e):
		return conflict
	case state == "08P01" && refusesLogin(e):
		return failed
	default:
		return stateSays(state)
	}
}

// stalePlan reports whether err, which is PostgreSQL's, says that a prepared statement is older than a change of its
// table. In its place the next attempt prepares a new one. The routine has the same name in every language of the
// server.
func stalePlan(err error) bool { return field(err, "Routine").String() == "RevalidateCachedQuery" }

// refusesLogin reports whether err is pgbouncer's for a login that will be refused again. It gives the same code to most
// of its errors: that the pool is full, and that the server is gone, too.
func refusesLogin(err error) bool {
	refusals := []string{
		"password authentication failed",
		"SASL authentication failed",
		"no such user",
		"no such database: ",
		"unsupported startup parameter",
	}
	message := field(err, "Message").String()
	return slices.ContainsFunc(refusals, func(refusal string) bool { return strings.HasPrefix(message, refusal) })
}

// stateSays returns what an SQLSTATE says. 40001 and class 08 mean the same to every database that uses it; the
// others are PostgreSQL's.
func stateSays(state string) answer {
	switch state {
	case "40001", "40P01": // serialization failure, deadlock
		return conflict
	case "40003", "08007": // statement completion, transaction resolution unknown
		return unknown
	case "XXA00": // CockroachDB: the COMMIT took effect, but for a change of the schema
		return unknown
	case "53300": // too many connections
		return full
	case "57P01", "57P02", "57P03": // the server shuts down, has crashed, is starting
		return lost
	case "25P03", "25P04", "57P05": // the server has ended a connection that was idle, or in a transaction, for too long
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
