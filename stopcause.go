package backoff

// WithStopCause names the limit that b sets: if b is what ends a loop, the loop's error matches cause
// as well as the operation's last error, and its text shows both:
//
//	b = backoff.WithStopCause(backoff.NewExponentialBackOff(), errTooLong)
//	b = backoff.WithStopCause(backoff.WithMaxRetries(b, 5), errTooOften)
//
// Of several causes that apply, the innermost counts; the refusal of a [Budget] is one of them. A loop
// that ends for another reason returns what it would without WithStopCause. A mark by [Permanent] in
// cause is removed.
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

func (b *stopCauseBackOff) stopped(outer error) (error, bool) {
	if b.saidStop {
		return b.cause, false
	}
	return b.limit.stopped(outer)
}
