package backoff

import (
	"reflect"
	"strings"
	"time"
)

// PermanentError marks an error that must not be retried. If an operation returns one, or an error
// that wraps one, a loop gives up at once and returns the error without the mark. Use [Permanent] to
// make one.
//
// A PermanentError is safe for concurrent use as long as it does not change.
type PermanentError struct {
	// Err is the marked error. A nil Err still counts as a failure.
	Err error
}

// Permanent marks err as permanent. The result is a [*PermanentError], or nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// Error returns the text of Err, or "permanent error" if there is none.
func (e *PermanentError) Error() string {
	_, err := unwrapMarks(e)
	if _, ok := err.(*PermanentError); ok {
		return "permanent error"
	}
	return err.Error()
}

// Unwrap returns Err, or nil if Err is e itself.
func (e *PermanentError) Unwrap() error {
	if e == nil || e.Err == error(e) {
		return nil
	}
	return e.Err
}

// Is reports whether target is a *PermanentError with an equal Err. A nil Err on either side matches
// any: errors.Is(err, &PermanentError{}) reports whether err is permanent. Uncomparable errors are
// never equal.
func (e *PermanentError) Is(target error) bool {
	t, ok := target.(*PermanentError)
	if !ok {
		return false
	}
	a, b := e.Unwrap(), t.Unwrap()
	return a == nil || b == nil || equal(a, b)
}

// equal reports whether a and b are the same value. It does not panic on uncomparable ones.
func equal(a, b error) bool { return reflect.ValueOf(a).Comparable() && a == b }

// RetryAfterError is an error that asks for a minimum wait before the next attempt, as a server does
// with a Retry-After header. Use [RetryAfter] to make one. Of several in an error's tree, the one
// that [errors.As] finds first counts.
//
// [ExponentialBackOff] moves the range of its random wait up to start at Duration; with any other
// policy the wait is the longer of Duration and the policy's own. If the wait would exceed
// MaxElapsedTime or the context's deadline, the loop gives up at once and returns the error like any
// other. Limit what an untrusted server may ask for before making the error.
//
// A RetryAfterError is safe for concurrent use as long as it does not change.
type RetryAfterError struct {
	// Err is the cause. It may be nil.
	Err error

	// Duration is the minimum wait. Zero or negative has no effect.
	Duration time.Duration
}

// RetryAfter returns a [*RetryAfterError] that wraps err and asks for a wait of at least d, or nil
// if err is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &RetryAfterError{Err: err, Duration: d}
}

// Error returns the text of Err, and the wait if one is asked for.
func (e *RetryAfterError) Error() string {
	err, wait := e.Unwrap(), "retry after "+e.wait().String()
	switch {
	case err == nil:
		return wait
	case e.wait() == 0:
		return err.Error()
	}
	return err.Error() + " (" + wait + ")"
}

// Unwrap returns Err, or nil if Err is e itself.
func (e *RetryAfterError) Unwrap() error {
	if e == nil || e.Err == error(e) {
		return nil
	}
	return e.Err
}

func (e *RetryAfterError) wait() time.Duration {
	if e == nil {
		return 0
	}
	return max(0, e.Duration)
}

// retryAfter returns the wait that err asks for, or 0.
func retryAfter(err error) time.Duration {
	e, _ := asType[*RetryAfterError](err)
	return e.wait()
}

// stopError is returned by a loop that ended for a reason besides the operation's last error.
type stopError struct{ reason, last error }

// newStopError returns last together with reason, whose marks must not reach an outer loop.
func newStopError(reason, last error) error {
	return &stopError{withoutMarks(reason), last}
}

func withoutMarks(err error) error {
	if inner, ok := permanent(err); ok {
		return inner
	}
	return err
}

// Error returns the reason and the last error on one line, without repeats.
func (e *stopError) Error() string {
	text := e.reason.Error()
	if last := e.last.Error(); last != text {
		text += ": " + last
	}
	return oneLine(text)
}

func (e *stopError) Unwrap() []error { return []error{e.reason, e.last} }

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// contextError is returned by a loop that its context ended, or that refused a wait past the
// deadline.
type contextError struct {
	err   error // the context's Err
	cause error // its Cause, or why the wait was refused
	last  error // the operation's
}

// newContextError returns the three errors as one, or last if that is all three already. A nil cause,
// as Go 1.23 gives for some contexts that are not its own, means err.
func newContextError(err, cause, last error) error {
	if cause == nil {
		cause = err
	}
	if equal(err, cause) && equal(err, last) {
		return err
	}
	if inner, ok := last.(*contextError); ok && equal(inner.err, err) && equal(inner.cause, cause) {
		return inner
	}
	return &contextError{withoutMarks(err), withoutMarks(cause), last}
}

// Error returns the context's error, its cause and the operation's last error on one line, without
// repeats.
func (e *contextError) Error() string {
	err, cause, last := e.err.Error(), e.cause.Error(), e.last.Error()
	text := err
	if cause != err {
		text += " (" + cause + ")"
	}
	if last != err && last != cause {
		text += ": " + last
	}
	return oneLine(text)
}

func (e *contextError) Unwrap() []error { return []error{e.err, e.cause, e.last} }

// Timeout and Temporary answer as the context's own error does, so that the result is a net.Error.
func (e *contextError) Timeout() bool {
	x, ok := e.err.(interface{ Timeout() bool })
	return ok && x.Timeout()
}

func (e *contextError) Temporary() bool {
	x, ok := e.err.(interface{ Temporary() bool })
	return ok && x.Temporary()
}

// tooLateError is a wait that would have outlasted the deadline.
type tooLateError time.Duration

func (t tooLateError) Error() string {
	return "next attempt in " + time.Duration(t).String() + " would be too late"
}
