package backoff

import (
	"context"
	"time"
)

// BackOffContext is a policy with a context. A loop gives up once the context is done.
type BackOffContext interface {
	BackOff

	// Context returns the context, which is not nil.
	Context() context.Context
}

// WithContext returns b bound to ctx. Once ctx is done, a loop cuts its wait short and makes no further
// attempt; see [Retry], also for ctx's deadline.
//
// If b is itself the result of WithContext, its context is replaced. With several contexts in a chain,
// the outermost interrupts waits; the others, once done, only make b return [Stop].
//
// A nil ctx panics. The result is stored in b if that is the result of WithMaxRetries: do not wrap one
// such b in two goroutines at once.
func WithContext(b BackOff, ctx context.Context) BackOffContext {
	if ctx == nil {
		panic("backoff: WithContext called with a nil context")
	}
	if c, ok := b.(*contextBackOff); ok {
		b = c.BackOff
	}
	if t, ok := b.(*triesBackOff); ok && t.context.ctx == nil {
		t.context = contextBackOff{decorator{t}, ctx}
		return &t.context
	}
	return &contextBackOff{decorator{orDefault(b)}, ctx}
}

type contextBackOff struct {
	decorator
	ctx context.Context
}

func (b *contextBackOff) Context() context.Context { return b.ctx }

func (b *contextBackOff) NextBackOff() time.Duration {
	if b.ctx.Err() != nil {
		return Stop
	}
	return b.BackOff.NextBackOff()
}
