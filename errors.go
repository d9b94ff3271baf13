package backoff

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"time"
)

// PermanentError marks an error that must not be retried. Make one with [Permanent]. If an operation returns
// one, or an error that wraps one, a loop gives up and returns the error without the mark.
//
// A PermanentError is safe for concurrent use as long as Err does not change.
type PermanentError struct {
	// Err is the marked error. A nil Err still counts as a failure.
	Err error
}

// Permanent marks err as an error that must not be retried: trying again would not help. The loop gives up, and
// returns err without the mark. A nil err gives nil, which is a success. A PermanentError comes back
// as it is.
//
//	if errors.Is(err, sql.ErrNoRows) {
//		return backoff.Permanent(err)
//	}
func Permanent(err error) error {
	_, marked := err.(*PermanentError)
	if err == nil || marked {
		return err
	}
	return &PermanentError{Err: err}
}

// Error returns the text of Err, or "permanent error" if there is none.
func (e *PermanentError) Error() string {
	err := e.Unwrap()
	if err == nil {
		return "permanent error"
	}
	return err.Error()
}

// Unwrap returns Err; or nil if Err is e itself, so that [errors.Is] ends.
func (e *PermanentError) Unwrap() error {
	if e == nil || e.Err == error(e) {
		return nil
	}
	return e.Err
}

// Is reports whether target is a *PermanentError with the same Err. If either Err is nil, any two match: so
// errors.Is(err, &PermanentError{}) reports whether err is marked.
func (e *PermanentError) Is(target error) bool {
	mark, ok := target.(*PermanentError)
	if !ok {
		return false
	}
	own := e.Unwrap()
	wanted := mark.Unwrap()
	return own == nil || wanted == nil || equal(own, wanted)
}

// equal reports whether a and b are the same value. Uncomparable ones, for which == panics, are not.
func equal(a, b error) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// RetryAfterError is an error that asks for a minimum wait before the next attempt, like a server's Retry-After
// header. Make one with [RetryAfter].
//
// The loop waits at least Duration. An [ExponentialBackOff] adds its jitter on top, so that clients that
// received the same time do not return together; with another policy the wait is the longer of the two. If
// the wait does not fit into MaxElapsedTime, or Duration into the context's deadline, the loop gives up
// immediately.
//
// A RetryAfterError is safe for concurrent use as long as its fields do not change.
type RetryAfterError struct {
	// Err is the cause. It may be nil.
	Err error

	// Duration is the minimum wait. Zero or negative asks for nothing.
	Duration time.Duration
}

// RetryAfter returns an error that wraps err and asks the loop to wait at least d before the next attempt. A nil
// err gives nil. A d of zero or less asks for nothing, and gives err itself.
//
// The loop waits as long as it is told, so limit what a server may ask for. Coming back earlier than the server
// asked does not help, so give up instead:
//
//	if wait > time.Minute {
//		return backoff.Permanent(err)
//	}
//	return backoff.RetryAfter(err, wait)
//
// A wait that does not fit into the loop's limits ends the loop immediately. If you call [Retry] again and again in
// a loop of your own, wait between the calls.
func RetryAfter(err error, d time.Duration) error {
	if err == nil || d <= 0 {
		return err
	}
	return &RetryAfterError{Err: err, Duration: d}
}

// Error returns the text of Err, and the wait if one is asked for.
func (e *RetryAfterError) Error() string {
	if e == nil {
		return "retry after 0s"
	}
	wait := "retry after " + e.Duration.String()
	switch {
	case e.Err == nil:
		return wait
	case e.Duration <= 0:
		return e.Err.Error()
	}
	return e.Err.Error() + " (" + wait + ")"
}

// Unwrap returns Err.
func (e *RetryAfterError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// joined is two errors in one, on one line.
type joined struct{ first, second error }

func (e *joined) Error() string   { return line(e.first, e.second) }
func (e *joined) Unwrap() []error { return []error{e.first, e.second} }

// joinedNetError is a joined that is a net.Error, as its second error is. Other errors must not pass for one.
type joinedNetError struct {
	*joined
	netError
}

// newStopError returns the error of a loop that has given up for a reason, which it matches, or for none.
func newStopError(reason, last error) error {
	if reason == nil {
		return last
	}
	e := &joined{reason, last}
	if errors.As(last, new(interface{ Timeout() bool })) {
		return &joinedNetError{e, netError{last}}
	}
	return e
}

// A refusal says why a loop does not begin something that its context's deadline leaves no time for.
type refusal string

func (r refusal) Error() string { return string(r) }

// endError is returned by a loop that its context has ended, or that refused a wait past the
// deadline. It passes for the context's Err. The errors of attempts are only matched: were they found under an
// interface too, the result would pass for one of them, as with gRPC, which looks for a method GRPCStatus.
type endError struct {
	netError       // the context's Err
	cause    error // its Cause, or a refusal
	attempts error // the error of the last attempt, joined with that of the one before; or nil
}

// newEndError returns the errors as one, or err if the others are equal to it or nil. A nil cause,
// as Go 1.23 gives for some contexts that are not its own, means err.
func newEndError(err, cause, last, previous error) error {
	err = withoutMarks(err)
	cause = withoutMarks(cause)
	if cause == nil {
		cause = err
	}

	// No error may be reached twice: in k nested loops it would be reached 2^k times.
	if equal(previous, last) || equal(previous, err) || equal(previous, cause) {
		previous = nil
	}
	if equal(last, err) || equal(last, cause) {
		last = nil
	}

	attempts := last
	switch {
	case last == nil:
		attempts = previous
	case previous != nil:
		attempts = &joined{last, previous}
	}
	if equal(err, cause) && attempts == nil {
		return err
	}
	return &endError{netError{err}, cause, attempts}
}

func (e *endError) Error() string        { return line(e.err, e.cause, e.attempts) }
func (e *endError) Unwrap() []error      { return []error{e.err, e.cause} }
func (e *endError) Is(target error) bool { return errors.Is(e.attempts, target) }

func (e *endError) As(target any) bool {
	return reflect.TypeOf(target).Elem().Kind() != reflect.Interface && errors.As(e.attempts, target)
}

// netError makes an error that embeds it a net.Error, which answers like another error.
type netError struct{ err error }

func (e netError) Timeout() bool {
	var x interface{ Timeout() bool }
	return errors.As(e.err, &x) && x.Timeout()
}

func (e netError) Temporary() bool {
	var x interface{ Temporary() bool }
	return errors.As(e.err, &x) && x.Temporary()
}

// line returns the texts of errs, of which the last may be nil, on one line. It leaves out what is there
// already. (Where one loop runs inside another over the same context, the last error begins with the context's text.)
func line(errs ...error) string {
	all := ""
	for _, err := range errs {
		if err == nil {
			continue
		}
		text := strings.ReplaceAll(err.Error(), "\n", "; ")
		switch {
		case all == "" || strings.HasPrefix(text, all+": "):
			all = text
		case !strings.Contains(": "+all+": ", ": "+text+": "):
			all += ": " + text
		}
	}
	return all
}

// unmark returns err without the marks in its tree, and reports whether there were any.
func unmark(err error) (error, bool) {
	if _, ok := asType[*PermanentError](err); !ok {
		return err, false
	}
	// Marks at the top come off, so that what they mark comes back as it is.
	onTop := false
	for {
		mark, ok := err.(*PermanentError)
		if !ok {
			break
		}
		onTop = true
		err = mark.Unwrap()
		if err == nil {
			return errors.New(mark.Error()), true // the mark was empty
		}
	}
	// Those below cannot come off without taking the errors above them apart, so they are hidden. An
	// error of type unmarked shows no mark here, so it is never hidden twice, and k nested loops cost O(k).
	if !onTop || markBelow(err) {
		err = &unmarked{err}
	}
	return err, true
}

// markBelow reports whether there is a mark in err, which was below a mark. The error is final, and v4 does not look
// into it: so neither a search without an end nor a panic of one of its methods may keep it from the caller.
func markBelow(err error) (found bool) {
	defer func() { _ = recover() }()
	left := 1 << 16
	_, found = search[*PermanentError](err, &left)
	return found
}

func withoutMarks(err error) error {
	err, _ = unmark(err)
	return err
}

// unmarked hides the marks in an error, so that an inner loop's mark does not stop an outer loop. It
// has the text of the whole, and Is and As find in it what they find in the whole, in the same order,
// but the marks.
//
// It has no method Unwrap: errors.Is and errors.As would go on there by themselves and find a mark. It
// holds the whole, instead of a copy of the tree without the marks, because the errors above a mark
// cannot be copied, and because the order of what is found would not be the whole's: of two
// RetryAfterErrors the first counts.
type unmarked struct{ whole error }

func (e *unmarked) Error() string { return e.whole.Error() }

func (e *unmarked) Is(target error) bool {
	// A mark matches marks alone, so where no mark is looked for none is found.
	_, mark := target.(*PermanentError)
	return !mark && errors.Is(e.whole, target)
}

func (e *unmarked) As(target any) bool {
	// What a mark can be found as is not looked for at all: a PermanentError, or an interface that
	// PermanentError has. Neither is an error's own As asked then, which may say that it is a mark.
	if reflect.TypeFor[*PermanentError]().AssignableTo(reflect.TypeOf(target).Elem()) {
		return false
	}
	return errors.As(e.whole, target)
}

// asType stands in for errors.AsType until go.mod requires Go 1.26. Unlike errors.As it does not
// reflect, nor allocate for an error without an As method: the error of each failed attempt is searched at least twice,
// for a mark and for a server's wait.
func asType[E any](err error) (E, bool) {
	left := math.MaxInt
	return search[E](err, &left)
}

// search is asType for so many errors as are left.
func search[E any](err error, left *int) (none E, ok bool) {
	for err != nil && *left > 0 {
		*left--
		if e, ok := err.(E); ok {
			return e, true
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
			for _, err := range x.Unwrap() {
				if e, ok := search[E](err, left); ok {
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
