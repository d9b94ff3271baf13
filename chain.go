package backoff

import "time"

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

// nextWait returns the next wait of b for a loop that waits for at least minWait, or [Stop].
func nextWait(b BackOff, minWait time.Duration) time.Duration {
	if announce(b, caller{isLoop: true, minWait: minWait}) {
		defer announce(b, caller{}) // what b is told holds for this question alone
	}

	wait := b.NextBackOff()
	if wait < 0 {
		return Stop
	}
	return max(wait, minWait) // a policy that is no callee does not know minWait
}

// caller is who calls NextBackOff, which has no parameter. The zero value is a caller by hand.
type caller struct {
	isLoop  bool          // of this package
	minWait time.Duration // it will wait for at least this long
}

// callee is a policy that must know its caller. A policy that limits time must know minWait, or the loop waits past
// the limit; a random one adds its jitter to minWait.
type callee interface{ calledBy(c caller) }

// announce tells the policies in b who calls them, and reports whether there is one that must know.
func announce(b BackOff, c caller) (told bool) {
	for ; b != nil; b = inner(b) {
		if p, ok := b.(callee); ok {
			p.calledBy(c)
			told = true
		}
	}
	return told
}

// decorator is embedded in the decorators of this package. It lets loops look through them.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff { return d.BackOff }
