package backoff

import "time"

// WithMaxRetries limits a loop to max retries, which are max+1 attempts. Zero means no retries. The loop then
// returns the operation's last error. A Reset of the policy by the operation starts the count over.
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
