package backoff

import "time"

// WithMaxRetries returns b with a limit: NextBackOff stops once it has been asked more than max
// times since Reset. A loop then makes at most max+1 attempts, the first and max retries; with a
// max of 0 it does not retry.
//
// A nil b means [NewExponentialBackOff]. The result is for one loop at a time.
func WithMaxRetries(b BackOff, max uint64) BackOff {
	return &triesBackOff{BackOff: orDefault(b), max: max}
}

type triesBackOff struct {
	BackOff
	max, used uint64
}

func (b *triesBackOff) Unwrap() BackOff { return b.BackOff }

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
