package backoff

import (
	"context"
	"time"
)

// BackOffContext is a policy that belongs to a context. The loops give up when the context is done.
type BackOffContext interface {
	BackOff

	// Context returns the context. A nil one counts as [context.Background].
	Context() context.Context
}

type contextBackOff struct {
	BackOff
	ctx context.Context
}

// WithContext returns b with the context ctx: a loop that uses it makes no further attempt once
// ctx is done, cuts a wait short when ctx ends, and gives up at once if a wait could not end before
// ctx's deadline.
//
// If b comes straight from WithContext, its context is replaced. Where contexts stand further apart
// in a chain of decorators, the outermost is the one that a loop waits on; an inner one only makes
// NextBackOff return [Stop].
//
// A nil b means [NewExponentialBackOff]. A nil ctx panics. The result is for one loop at a time.
func WithContext(b BackOff, ctx context.Context) BackOffContext {
	if ctx == nil {
		panic("backoff: WithContext called with a nil context")
	}
	if c, ok := b.(*contextBackOff); ok {
		b = c.BackOff
	}
	return &contextBackOff{BackOff: orDefault(b), ctx: ctx}
}

func (b *contextBackOff) Context() context.Context { return b.ctx }

func (b *contextBackOff) Unwrap() BackOff { return b.BackOff }

func (b *contextBackOff) NextBackOff() time.Duration {
	if b.ctx.Err() != nil {
		return Stop
	}
	return b.BackOff.NextBackOff()
}

// contextOf returns the outermost context of b and of what b wraps, or [context.Background].
func contextOf(b BackOff) context.Context {
	for ; b != nil; b = unwrap(b) {
		if c, ok := b.(BackOffContext); ok {
			if ctx := c.Context(); ctx != nil {
				return ctx
			}
			break
		}
	}
	return context.Background()
}
