package backoff

import "time"

// BackOffObserver is a policy that learns from the attempts. The Retry functions tell it how each
// of them ended, before they ask for the next wait.
//
// An observer is found through any decorators above it that have Unwrap() BackOff; such a
// decorator must not pass Observe on itself. [Attempts] does not know how its attempts end, and
// tells nothing: there the loop's body may call Observe. A [Ticker] tells nothing either, and as its
// goroutine asks for the next wait as soon as a tick is received, nobody else may.
type BackOffObserver interface {
	BackOff

	// Observe is called with what the operation returned, nil for a success. It is called once
	// for each attempt, from the loop's goroutine.
	Observe(err error)
}

// observe tells every observer in b how an attempt ended, and reports whether there is one.
func observe(b BackOff, err error) bool {
	told := false
	for ; b != nil; b = unwrap(b) {
		if o, ok := b.(BackOffObserver); ok {
			o.Observe(err)
			told = true
		}
	}
	return told
}

// deaf reports whether b is one of the policies that observe nothing and wrap nothing. It is what
// observe would find too, for a tenth of the price.
func deaf(b BackOff) bool {
	switch b.(type) {
	case *ConstantBackOff, *LinearBackOff, *ZeroBackOff, *StopBackOff:
		return true
	}
	return false
}

// unwrap returns what the decorator b wraps, or nil if b is no decorator.
func unwrap(b BackOff) BackOff {
	if d, ok := b.(interface{ Unwrap() BackOff }); ok {
		return d.Unwrap()
	}
	return nil
}

// WithRetryIf returns b, stopping at once after an error for which retryable returns false. The
// loop then returns that error unchanged. It is the counterpart of [Permanent] for a caller who
// cannot, or would rather not, change the operation.
//
// A nil b means [NewExponentialBackOff]. A nil retryable panics. The result is for one loop at a
// time.
func WithRetryIf(b BackOff, retryable func(error) bool) BackOff {
	if retryable == nil {
		panic("backoff: WithRetryIf called with a nil function")
	}
	return &retryIfBackOff{BackOff: orDefault(b), retryable: retryable}
}

type retryIfBackOff struct {
	BackOff
	retryable func(error) bool
	stopped   bool
}

func (b *retryIfBackOff) Unwrap() BackOff { return b.BackOff }

func (b *retryIfBackOff) Observe(err error) { b.stopped = err != nil && !b.retryable(err) }

func (b *retryIfBackOff) Reset() {
	b.stopped = false
	b.BackOff.Reset()
}

func (b *retryIfBackOff) NextBackOff() time.Duration {
	if b.stopped {
		return Stop
	}
	return b.BackOff.NextBackOff()
}
