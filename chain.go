package backoff

import (
	"iter"
	"time"
)

// maxChain is how many policies are looked at from the outermost decorator inwards. A decorator whose
// Unwrap leads back to itself cannot hang a loop.
const maxChain = 1000

// chain returns the policies in b, from the outermost decorator inwards.
func chain(b BackOff) iter.Seq[BackOff] {
	return func(yield func(BackOff) bool) {
		for n := 0; b != nil && n < maxChain && yield(b); n++ {
			d, ok := b.(interface{ Unwrap() BackOff })
			if !ok {
				return
			}
			b = d.Unwrap()
		}
	}
}

// participant is a policy of this package that takes part in a loop's decision to retry.
type participant interface {
	// decide is called after a failed attempt, before NextBackOff. The loop will wait for at least
	// floor; a policy that knows it can spread clients above it.
	decide(floor time.Duration)

	// stopped returns why the policy has stopped, or outer if it has no reason to give, and whether
	// it was answered with a wait from below.
	stopped(outer error) (reason error, passed bool)

	// end is called when the loop ends. The policy forgets what it remembered for the loop. begun
	// says whether the retry that was decided on last has begun.
	end(begun bool)
}

// decorator is what the decorators of this package have in common.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff { return d.BackOff }

// limit is a decorator that may stop a loop by its own rule. It notes how the policy below has
// answered, since a user's decorator may turn a wait into a stop, or a stop into a wait.
type limit struct {
	decorator
	saidStop, saidWait bool // in this decision
}

func newLimit(b BackOff) limit                     { return limit{decorator: decorator{orDefault(b)}} }
func (l *limit) decide(time.Duration)              { l.saidStop, l.saidWait = false, false }
func (l *limit) stopped(outer error) (error, bool) { return outer, l.saidWait }
func (l *limit) end(bool)                          {}

func (l *limit) NextBackOff() time.Duration {
	wait := l.BackOff.NextBackOff()
	l.saidStop, l.saidWait = wait < 0, wait >= 0
	return wait
}
