package backoff

import "time"

// WithStopCause adds an error that says which limit was hit: if b is what ends a loop, the loop's error
// matches cause as well as the operation's last error, and its text shows both.
//
// If several apply, the innermost wins. Where a [Budget] cannot pay, that is the only cause. A mark by
// [Permanent] in cause is removed. If your own decorator asks b, b stops, and the decorator then stops
// for another reason, cause is added all the same. A nil cause panics.
func WithStopCause(b BackOff, cause error) BackOff {
	if cause == nil {
		panic("backoff: WithStopCause called with a nil cause")
	}
	return &stopCauseBackOff{decorator: decorator{orDefault(b)}, cause: cause}
}

type stopCauseBackOff struct {
	decorator
	cause   error
	stopped bool // the last answer was a stop
}

func (b *stopCauseBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	b.stopped = wait < 0
	return wait
}

func (b *stopCauseBackOff) prepare(time.Duration) { b.stopped = false }
