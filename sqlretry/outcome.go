package sqlretry

import "errors"

// ErrOutcomeUnknown is what the error of [Do] matches if nobody knows whether the transaction took effect: the answer
// to its COMMIT did not come, or says so, or is an error that this package does not know. It is returned at once, but
// for the last of the three, after which [Options.Retryable] is asked.
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
