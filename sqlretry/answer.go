package sqlretry

// An answer is what an error says of a transaction. If the errors of one tree say several things, the greatest counts.
type answer int

const (
	unrecognised answer = iota
	failed              // the database refuses, for a reason that stays
	unknown             // nobody knows whether the transaction, or a statement, took effect
	full                // the server lets nobody in at the moment
	lost                // there is no connection, or no longer
	busy                // the connection is in use: the rows of an earlier query are open
	conflict            // the database has rolled the transaction back, only because of other transactions
)

// Retryable reports whether to repeat a transaction that failed with err before its COMMIT: whether it was in
// conflict with others, or its connection was lost. It looks for such an error in all that err wraps. It does not
// know of attempts that took too long, nor what a ROLLBACK said.
func Retryable(err error) bool { return classify(err, false).repeats() }

func (says answer) repeats() bool { return says == lost || says == conflict }

// classify returns what the errors in err's tree say. Those of Spanner count if spanner is true.
func classify(err error, spanner bool) (says answer) {
	e, ok := err.(*stepError)
	switch {
	case err == nil:
		return unrecognised
	case ok:
		return e.says
	}

	for _, driver := range drivers {
		says = max(says, ask(driver, err))
	}
	if spanner {
		says = max(says, ask(spannerSays, err))
	}

	switch e := err.(type) {
	case interface{ Unwrap() error }:
		says = max(says, classify(e.Unwrap(), spanner))
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			says = max(says, classify(err, spanner))
		}
	}
	return says
}

// ask returns what driver says of err. It calls methods that errors of other types may have, too, and these may panic
// if a pointer in them is nil. Such an error says nothing.
func ask(driver func(err error) answer, err error) (says answer) {
	defer func() { _ = recover() }()
	return driver(err)
}

// drivers have a function each that returns what an error of its type says. All but the last two know the errors of
// databases.
var drivers = []func(err error) answer{
	postgresSays,
	mysqlSays,
	sqliteSays,
	sqlServerSays,
	oracleSays,
	connectionSays,
	busySays,
}
