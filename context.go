package backoff

import (
	"context"
	"time"
)

// BackOffContext is a policy with a context. A loop gives up once the context is done. Use [WithContext]
// to make one.
type BackOffContext interface {
	BackOff

	// Context returns the context, which is not nil.
	Context() context.Context
}

// WithContext returns a policy with the waits of b, whose loop ends with ctx. Once ctx is done, the loop cuts its wait
// short and makes no further attempt; nor does it start a wait that would outlast ctx's deadline (see [Retry]). A
// running attempt is not interrupted: pass it the same ctx.
//
// Call WithContext once for each policy, inside or outside of other decorators. If b is itself the result of
// WithContext, its context is replaced. Of several contexts in a chain, the outermost cuts waits short; the
// others, once done, only make b stop after the next failed attempt, and the error does not match theirs.
//
// A nil ctx panics. WithContext may write into b, so do not wrap the same b in two goroutines.
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

// contextOf returns the outermost context in b, or the background.
func contextOf(b BackOff) context.Context {
	for ; b != nil; b = inner(b) {
		if c, ok := b.(BackOffContext); ok {
			return c.Context()
		}
	}
	return context.Background()
}

// replaceContexts makes the contexts that [WithContext] has put into b give way to ctx.
func replaceContexts(b BackOff, ctx context.Context) {
	for ; b != nil; b = inner(b) {
		if c, ok := b.(*contextBackOff); ok {
			c.ctx = ctx
		}
	}
}

// inner returns the policy that b wraps, or nil.
func inner(b BackOff) BackOff {
	if d, ok := b.(interface{ Unwrap() BackOff }); ok {
		return d.Unwrap()
	}
	return nil
}

// decorator is embedded in the decorators of this package. It lets loops look through them.
type decorator struct{ BackOff }

func (d *decorator) Unwrap() BackOff { return d.BackOff }
