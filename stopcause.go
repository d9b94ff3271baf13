package backoff

import "time"

// WithStopCause gives the limits in b a name. If b ends a loop, the error matches cause as well as the
// operation's last error, and reads "cause: last error":
//
//	policy := backoff.WithMaxRetries(b, 5)
//	policy = backoff.WithStopCause(policy, ErrTooManyTries)
//
// The cause speaks for all limits inside b, of retries, of errors and of time, and not for those that you add
// around it. If several causes apply, the innermost wins. An empty [Budget] is always reported as
// [ErrBudgetExhausted], and the loop's context by its own error. (Of several contexts in a chain, the outermost is
// the loop's. The others are limits like any other.)
//
// Marks of [Permanent] in cause are hidden, as in every error that a loop returns. A nil cause panics.
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

// An outer decorator may stop without asking b, so what b has answered before is forgotten.
func (b *stopCauseBackOff) calledBy(caller) { b.stopped = false }
