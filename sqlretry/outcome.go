package sqlretry

import "errors"

// ErrOutcomeUnknown says that the COMMIT may or may not have taken effect. The error of [Do] matches it if the answer to
// the COMMIT did not come, says so, or is an error that this package does not know. After the first two the error is
// returned immediately, and after the last [Options.Retryable] is asked.
//
// Do not look in the database and do it again if nothing is there: the COMMIT may still be on its way, and take effect
// after the look. Do it again only if the transaction first inserts a key that was made before the call of Do, and that
// the database holds unique; if that INSERT, and no other, fails with "duplicate key", it is done. The database makes the
// second transaction wait for the first. Without such a key, report the error. A Retryable of yours says yes to it under
// the same condition alone. After that yes, do it again whatever the error of Do is.
var ErrOutcomeUnknown = errors.New("outcome of the COMMIT is unknown")

// A stepError is an error that says more than its cause does, by the step in which it came.
type stepError struct {
	step string
	err  error
	says answer
}

func outcomeUnknown(err error) error { return &stepError{ErrOutcomeUnknown.Error(), err, unknown} }

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }

func (e *stepError) Unwrap() error { return e.err }

func (e *stepError) Is(target error) bool { return target == ErrOutcomeUnknown && e.says == unknown }
