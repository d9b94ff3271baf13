package backoff

import "time"

// WithStopCause names the limit that b sets: if b is what ends a loop, the loop's error matches
// cause (less a mark by [Permanent]) as well as the operation's last error, and its text shows both.
// So a caller can tell one limit from another:
//
//	b = backoff.WithStopCause(backoff.NewExponentialBackOff(), errTooLong)
//	b = backoff.WithStopCause(backoff.WithMaxRetries(b, 5), errTooOften)
//
// Of several causes that apply, the innermost counts; the refusal of a [Budget], which is
// [ErrBudgetExhausted], is one of them. A loop that ends for another reason, such as a permanent
// error or its context, returns what it would return without WithStopCause.
//
// A nil b means [NewExponentialBackOff]. A nil cause panics. The result holds the state of one loop.
func WithStopCause(b BackOff, cause error) BackOff {
	if cause == nil {
		panic("backoff: WithStopCause called with a nil cause")
	}
	return &stopCauseBackOff{BackOff: orDefault(b), cause: cause}
}

type stopCauseBackOff struct {
	BackOff
	cause   error
	stopped bool
}

func (b *stopCauseBackOff) Unwrap() BackOff { return b.BackOff }

func (b *stopCauseBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	b.stopped = wait < 0
	return wait
}

func (b *stopCauseBackOff) prepare(time.Duration) { b.stopped = false }

func (b *stopCauseBackOff) abandon() error {
	if b.stopped {
		return b.cause
	}
	return nil
}
