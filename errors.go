package backoff

import (
	"errors"
	"reflect"
	"strings"
	"time"
)

// PermanentError marks an error that no retry can mend. A loop whose operation returns one, or an
// error that wraps one, gives up at once and returns the error without the mark. Make it with
// [Permanent].
//
// A PermanentError with a nil Err is a failure all the same. It is immutable in use, and so safe
// for any number of goroutines.
type PermanentError struct {
	// Err is the error itself.
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
	if err := e.Unwrap(); err != nil {
		return err.Error()
	}
	return "permanent error"
}

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Is reports whether target is a *PermanentError that holds the same error. One that holds no
// error, on either side, matches every other: errors.Is(err, &PermanentError{}) asks whether err
// is permanent at all. Errors that cannot be compared are not the same.
func (e *PermanentError) Is(target error) bool {
	t, ok := target.(*PermanentError)
	if !ok {
		return false
	}
	a, b := e.Unwrap(), t.Unwrap()
	return a == nil || b == nil || reflect.ValueOf(a).Comparable() && a == b
}

// unmarked is an error that wraps a PermanentError somewhere below, without the mark: it has the
// text of the whole and matches all that the whole matches, save PermanentErrors. An outer loop
// must not stop for an inner loop's mark.
//
// Its methods include all those of a PermanentError, so that errors.As stops here for every
// interface which one in the tree below could satisfy.
type unmarked struct {
	whole error
	inner error // what the mark was on, unmarked too; may be nil
}

func (e *unmarked) Error() string { return e.whole.Error() }

func (e *unmarked) Unwrap() error { return e.inner }

func (e *unmarked) Is(target error) bool {
	_, permanent := target.(*PermanentError)
	return !permanent && errors.Is(e.whole, target)
}

func (e *unmarked) As(target any) bool {
	_, permanent := target.(**PermanentError)
	return !permanent && errors.As(e.whole, target)
}

// permanent returns err without its mark if it is, or wraps, a PermanentError.
func permanent(err error) (error, bool) {
	mark, ok := asType[*PermanentError](err)
	if !ok {
		return nil, false
	}
	inner := mark.Unwrap()
	if inner != nil {
		if e, ok := permanent(inner); ok {
			inner = e
		}
	}
	if err == error(mark) && inner != nil {
		return inner, true
	}
	return &unmarked{whole: err, inner: inner}, true
}

// RetryAfterError is an error that asks for a minimum wait before the next attempt, as a server does
// with a Retry-After header. Make it with [RetryAfter].
//
// The wait before the retry is the longer of Duration and the policy's own. It counts against
// [ExponentialBackOff]'s MaxElapsedTime and against the context's deadline: where it would pass one
// of them, the loop gives up at once. The error itself is returned then as any other would be. What
// a stranger's server may ask for is best limited before it gets here.
//
// It is immutable in use, and so safe for any number of goroutines.
type RetryAfterError struct {
	// Err is the cause. It may be nil.
	Err error

	// Duration is the least wait. Zero or less asks for nothing.
	Duration time.Duration
}

// RetryAfter returns a [*RetryAfterError] that wraps err and asks for a wait of d at least, or nil
// if err is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &RetryAfterError{Err: err, Duration: d}
}

// Error returns the text of Err, and the wait if one is asked for.
func (e *RetryAfterError) Error() string {
	err, asks := e.Unwrap(), "retry after "+e.wait().String()
	switch {
	case err == nil:
		return asks
	case e.wait() == 0:
		return err.Error()
	}
	return err.Error() + " (" + asks + ")"
}

// Unwrap returns Err.
func (e *RetryAfterError) Unwrap() error {
	if e == nil {
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

// contextError is what a loop returns when its context, or its context's deadline, ends it.
type contextError struct {
	err   error // the context's Err
	cause error // its Cause, or why there was no use in waiting for its deadline
	last  error // the operation's
}

// Error returns one line: the context's error, its cause and the operation's last error, as far as
// they differ.
func (e *contextError) Error() string {
	text := e.err.Error()
	if cause := e.cause.Error(); cause != text {
		text += " (" + cause + ")"
	}
	if last := e.last.Error(); last != e.err.Error() {
		text += ": " + last
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

func (e *contextError) Unwrap() []error { return []error{e.err, e.cause, e.last} }

// tooLateError is a wait that could not end before the deadline.
type tooLateError time.Duration

func (t tooLateError) Error() string {
	return "next attempt in " + time.Duration(t).String() + " would be too late"
}

// asType returns the first error of type E in err's tree.
//
// It is errors.AsType of Go 1.26, and can make way for it once go.mod says go 1.26. errors.As would
// do, but it allocates and reflects for each failed attempt.
func asType[E error](err error) (E, bool) {
	var none E
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		switch err.(type) {
		case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ As(any) bool }:
		default:
			return none, false // most errors; one look is enough for them
		}
		if x, ok := err.(interface{ As(any) bool }); ok {
			target := new(E)
			if x.As(target) {
				return *target, true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, branch := range x.Unwrap() {
				if e, ok := asType[E](branch); ok {
					return e, true
				}
			}
			return none, false
		default:
			return none, false
		}
	}
	return none, false
}
