package backoff

import "time"

// WithStopCause adds an error that says which limit was hit: if b is what ends a loop, the loop's error
// matches cause as well as the operation's last error, and its text shows both.
//
// If several apply, the innermost wins. A [Budget] that cannot pay is a cause too.
// A mark by [Permanent] in cause is removed. If b stops and a decorator around it has a limit that it
// reaches at the same time, b is taken for what ended the loop.
//
// A nil b means [NewExponentialBackOff]. A nil cause panics. The result holds the state of one loop.
func WithStopCause(b BackOff, cause error) BackOff {
	if cause == nil {
		panic("backoff: WithStopCause called with a nil cause")
	}
	return &stopCauseBackOff{limit: newLimit(b), cause: cause}
}

type stopCauseBackOff struct {
	limit
	cause error
}

func (b *stopCauseBackOff) NextBackOff() time.Duration {
	wait := b.limit.NextBackOff()
	if wait < 0 && b.reason == nil {
		b.reason = b.cause
	}
	return wait
}
