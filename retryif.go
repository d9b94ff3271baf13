package backoff

import "time"

// WithRetryIf limits b to errors for which retryable returns true. After any other error a loop
// gives up at once and returns that error unchanged (unless its context has ended as well, or
// [WithStopCause] names this limit). Use it instead of [Permanent] where the operation cannot be
// changed. retryable is called with every error of the operation, permanent ones too.
//
// A nil b means [NewExponentialBackOff]. A nil retryable panics. A [Ticker] does not know the
// errors, so there it has no effect. The result holds the state of one loop.
func WithRetryIf(b BackOff, retryable func(error) bool) BackOff {
	if retryable == nil {
		panic("backoff: WithRetryIf called with a nil function")
	}
	return &retryIfBackOff{BackOff: orDefault(b), retryable: retryable}
}

type retryIfBackOff struct {
	BackOff
	retryable func(error) bool
	stopped   bool
}

func (b *retryIfBackOff) Unwrap() BackOff { return b.BackOff }

func (b *retryIfBackOff) Observe(err error) { b.stopped = err != nil && !b.retryable(err) }

func (b *retryIfBackOff) Reset() {
	b.stopped = false
	b.BackOff.Reset()
}

func (b *retryIfBackOff) NextBackOff() time.Duration {
	if b.stopped {
		return Stop
	}
	return b.BackOff.NextBackOff()
}
