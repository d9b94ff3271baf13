package backoff

import "time"

// WithMaxRetries returns a policy with the waits of b that stops after max retries, which are max+1 attempts. Zero
// means no retries. A Reset, also one by the operation, starts the count over.
func WithMaxRetries(b BackOff, max uint64) BackOff {
	return &triesBackOff{decorator: decorator{orDefault(b)}, max: max}
}

type triesBackOff struct {
	decorator
	max, used uint64

	// context is the memory for what WithContext around this returns. Most programs make both for each
	// call, and so with one allocation.
	context contextBackOff
}

func (b *triesBackOff) Reset() {
	b.used = 0
	b.BackOff.Reset()
}

func (b *triesBackOff) NextBackOff() time.Duration {
	if b.used >= b.max {
		return Stop
	}
	b.used++
	return b.BackOff.NextBackOff()
}
