package backoff

import "time"

// BackOffObserver is a policy that learns how each attempt ended, before it is asked for the next wait and
// before notify is called. It can count attempts, or adapt its waits. It may also be a decorator, whose method
// Unwrap() BackOff returns what it wraps: a loop calls every observer in the chain by itself.
//
// A [Ticker] does not know how attempts end, so it calls no observer.
type BackOffObserver interface {
	BackOff

	// Observe is called after each attempt that returns, with its error; nil means success. Calls are
	// never concurrent. A decorator must not pass the call on to the policy that it wraps.
	//
	// (If the body of a range over Attempts leaves a later pass without an attempt, Observe is called with
	// the previous attempt's error once more.)
	Observe(err error)
}

// inner returns the policy that b wraps, or nil.
func inner(b BackOff) BackOff {
	if d, ok := b.(interface{ Unwrap() BackOff }); ok {
		return d.Unwrap()
	}
	return nil
}

// orDefault returns b, or the default policy if b is nil.
func orDefault(b BackOff) BackOff {
	if b == nil {
		return NewExponentialBackOff()
	}
	return b
}

// caller is who calls the NextBackOff of a policy. The zero value is a caller by hand.
type caller struct {
	isLoop  bool          // of this package
	minWait time.Duration // it will wait for at least this long
}

// callee is a policy of this package that must know its caller. A loop announces itself before each
// NextBackOff, which has no parameter. When it ends, it announces a caller by hand: the policy then forgets
// what it remembered for the loop. A policy that limits time must know minWait, or the loop waits past the
// limit; a random one adds its jitter to minWait.
type callee interface{ calledBy(c caller) }

// decorator is what the decorators of this package have in common.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff { return d.BackOff }
