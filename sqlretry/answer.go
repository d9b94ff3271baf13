package sqlretry

// An answer is what an error says of a transaction. If the errors of one tree say several things, the greatest counts.
type answer int

const (
	unrecognised answer = iota
	failed              // the database refuses, for a reason that stays
	unknown             // nobody knows whether the transaction, or a statement, took effect
	full                // the server lets nobody in at the moment
	lost                // there is no connection, or no longer
	conflict            // the database has rolled the transaction back, only because of other transactions
)

// Retryable reports whether to repeat a transaction that failed with err before its COMMIT: whether it was in
// conflict with others, or its connection was lost. It looks for such an error in all that err wraps. It does not
// know of attempts that took too long, nor what a ROLLBACK said.
func Retryable(err error) bool { return classify(err, false) >= lost }

// classify returns what the errors in err's tree say. Those of Spanner count if spanner is true.
//
// It calls methods that errors of other types may have, too, and these may panic if a pointer in them is nil. What
// such an error says does not count.
func classify(err error, spanner bool) (says answer) {
	defer func() { _ = recover() }()

	switch e := err.(type) {
	case nil:
		return unrecognised
	case *stepError:
		return e.says
	case interface{ Unwrap() error }:
		says = classify(e.Unwrap(), spanner)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			says = max(says, classify(err, spanner))
		}
	}

	if spanner {
		says = max(says, spannerSays(err))
	}
	for _, driver := range drivers {
		says = max(says, driver(err))
	}
	return says
}

// drivers have a function each that returns what an error of its type says. All but the last know the errors of
// databases.
var drivers = []func(err error) answer{
	postgresSays,
	mysqlSays,
	sqliteSays,
	sqlServerSays,
	oracleSays,
	connectionSays,
}
