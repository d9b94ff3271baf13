package backoff

import (
	"iter"
	"time"
)

// BackOffObserver is a policy that learns how each attempt ended, before it is asked for the next wait and
// before notify is called. It can count attempts, or adapt its waits. It may also be a decorator, whose method
// Unwrap() BackOff returns what it wraps: a loop calls every observer in the chain by itself.
//
// A [Ticker] does not know how attempts end, so it calls no observer.
type BackOffObserver interface {
	BackOff

	// Observe is called once after each attempt that returns, with its error; nil means success. Calls
	// are never concurrent. A decorator must not pass the call on to the policy that it wraps.
	Observe(err error)
}

// maxChain is how many policies are looked at, so that an Unwrap that leads back cannot hang a loop.
const maxChain = 1000

// chain returns the policies in b, from the outermost decorator inwards. It leaves out the policies of this
// package with which a loop has no other business than NextBackOff, and does not look for Unwrap where it
// knows that there is none: that makes a walk twice as fast.
func chain(b BackOff) iter.Seq[BackOff] {
	return func(yield func(BackOff) bool) {
		for n := 0; n < maxChain; n++ {
			switch b.(type) {
			case nil, *ConstantBackOff, *LinearBackOff, *ZeroBackOff, *StopBackOff:
				return
			case *ExponentialBackOff:
				yield(b)
				return
			}
			d, ok := b.(interface{ Unwrap() BackOff })
			if !yield(b) || !ok {
				return
			}
			b = d.Unwrap()
		}
	}
}

// orDefault returns b, or the default policy if b is nil.
func orDefault(b BackOff) BackOff {
	if b == nil {
		return NewExponentialBackOff()
	}
	return b
}

// question is what a policy of this package knows about the caller of its NextBackOff. The zero value is
// a caller by hand.
type question struct {
	inLoop  bool          // a loop of this package asks
	minWait time.Duration // it will wait for at least this long
}

// participant is a policy of this package whose answer depends on the question. A loop tells it before
// each NextBackOff, and tells the zero question when it ends: the policy then forgets what it remembered
// for the loop. A policy that limits time must know minWait, or the loop waits past the limit; one that
// is random can spread clients above it.
type participant interface{ tell(q question) }

// decorator is what the decorators of this package have in common.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff { return d.BackOff }
