package backoff

import (
	"iter"
	"time"
)

// BackOffObserver is a policy that receives the outcome of each attempt, before it is asked for the next
// wait. A [Ticker] does not know the outcome, so it does not call Observe. An observer is found below
// decorators that have a method Unwrap() BackOff; they must not forward Observe, or it is called twice.
type BackOffObserver interface {
	BackOff

	// Observe is called once after each attempt that returns, with its error; nil means success.
	// Calls are never concurrent.
	Observe(err error)
}

// maxChain is how many policies are looked at, so that an Unwrap that leads back cannot hang a loop.
const maxChain = 1000

// chain returns the policies in b, from the outermost decorator inwards, but for those of this package
// that take part in nothing. To know those that wrap nothing makes a walk twice as fast.
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

// participant is a policy of this package that remembers something for a retry, or that limits time.
type participant interface {
	// prepare is called after a failed attempt, before each NextBackOff. The loop will wait for at
	// least floor. A policy that limits time must know it, or the loop waits past the limit; one that
	// is random can spread clients above it.
	prepare(floor time.Duration)

	// end is called when the loop ends. The policy forgets what it remembered for the loop. begun
	// says whether the retry that was decided on last has started.
	end(begun bool)
}

// decorator is what the decorators of this package have in common.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff     { return d.BackOff }
func (*decorator) prepare(time.Duration) {}
func (*decorator) end(bool)              {}
