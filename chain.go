package backoff

import (
	"iter"
	"time"
)

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

// participant is a policy of this package that remembers something between a failure and the retry. For
// each attempt a loop calls Observe, prepare, NextBackOff and, after the wait, turn; at its end, end.
type participant interface {
	// prepare is called after a failed attempt, before each NextBackOff. The loop will wait for at
	// least floor; a policy that knows it can spread clients above it.
	prepare(floor time.Duration)

	// end is called when the loop ends. The policy forgets what it remembered for the loop. begun
	// says whether the retry that was decided on last has started.
	end(begun bool)
}

// decorator is what the decorators of this package have in common.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff { return d.BackOff }

// limit is a decorator that may stop a loop by its own rule.
type limit struct {
	decorator
	reason error // why the last answer was to stop, if there is more to say than that
}

func newLimit(b BackOff) limit         { return limit{decorator: decorator{orDefault(b)}} }
func (l *limit) prepare(time.Duration) { l.reason = nil }
func (l *limit) end(bool)              {}
func (l *limit) stopReason() error     { return l.reason }

// NextBackOff asks the policy below. The reason of a stop travels up with the answer. If a user's
// decorator has made a wait of the stop, there is no reason any more.
func (l *limit) NextBackOff() time.Duration {
	wait := l.BackOff.NextBackOff()
	if wait < 0 {
		l.reason = stopReason(l.BackOff)
	}
	return wait
}

// stopReason returns the reason of the outermost limit in b, which has just answered with a stop.
func stopReason(b BackOff) error {
	for p := range chain(b) {
		if p, ok := p.(interface{ stopReason() error }); ok {
			return p.stopReason()
		}
	}
	return nil
}
