package backoff

import "time"

// WithMaxRetries limits a loop to max retries, which are max+1 attempts. Zero means no retries.
func WithMaxRetries(b BackOff, max uint64) BackOff {
	return &triesBackOff{decorator: decorator{orDefault(b)}, max: max}
}

type triesBackOff struct {
	decorator
	max, used uint64

	// context is what WithContext around this returns: most programs build both for each call.
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
