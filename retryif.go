package backoff

import "time"

// WithRetryIf limits the retries to errors for which retryable returns true. After any other error a loop gives
// up and returns that error (inside [WithStopCause], with the cause). Use it instead of [Permanent] where you
// cannot change the operation:
//
//	policy = backoff.WithRetryIf(policy, func(err error) bool {
//		return errors.Is(err, ErrThrottled)
//	})
//
// retryable is called with every error of the operation, permanent ones too. A nil retryable panics. A
// [Ticker] does not know the errors, so there WithRetryIf has no effect.
func WithRetryIf(b BackOff, retryable func(error) bool) BackOff {
	if retryable == nil {
		panic("backoff: WithRetryIf called with a nil function")
	}
	return &retryIfBackOff{decorator: decorator{orDefault(b)}, retryable: retryable}
}

type retryIfBackOff struct {
	decorator
	retryable func(error) bool
	refused   bool // the last error is not retryable
	inLoop    bool // a loop of this package asks
}

func (b *retryIfBackOff) Observe(err error) { b.refused = err != nil && !b.retryable(err) }

func (b *retryIfBackOff) calledBy(c caller) {
	b.inLoop = c.isLoop
	if !b.inLoop {
		b.refused = false
	}
}

// A Reset in a loop, by the operation or a decorator, keeps what was observed.
func (b *retryIfBackOff) Reset() {
	b.refused = b.refused && b.inLoop
	b.BackOff.Reset()
}

func (b *retryIfBackOff) NextBackOff() time.Duration {
	if b.refused {
		return Stop
	}
	return b.BackOff.NextBackOff()
}
