package backoff

import "time"

// WithRetryIf limits b to errors for which retryable returns true. After any other error a loop
// gives up, as if b had stopped. Use it instead of [Permanent] where the operation cannot be
// changed. retryable is called with every error of the operation, permanent ones too.
//
// A nil retryable panics. A [Ticker] does not know the errors, so there it has no effect.
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
	inLoop    bool // between a decision of a loop of this package and its end
}

func (b *retryIfBackOff) Observe(err error)     { b.refused = err != nil && !b.retryable(err) }
func (b *retryIfBackOff) prepare(time.Duration) { b.inLoop = true }
func (b *retryIfBackOff) end(bool)              { b.inLoop, b.refused = false, false }

// Reset in a loop, by a decorator that starts over, keeps what was observed.
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
