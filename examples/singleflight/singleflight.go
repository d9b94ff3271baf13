// Package singleflight lets all callers that want the same value at the same time share one call. golang.org/x/sync has a
// package of this name too: this one gives the call a time of its own, and retries it.
//
// What may happen twice: the call, since it is retried. So share only what reads.
//
// What must hold of the other side: its answer is the same for all callers that share a key. If it depends on who asks,
// who asks must be part of the key. A caller may receive an answer that was on its way before it asked: who has just
// written, and must see that, makes a call of its own.
package singleflight

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/backoff"
)

// A Group shares calls to one service. It is safe for concurrent use, and must not be copied after its first use.
type Group[T any] struct {
	// Retrier makes the calls.
	Retrier *backoff.Retrier

	// Timeout limits a shared call, with its retries, whatever time its callers have.
	Timeout time.Duration

	mu      sync.Mutex
	flights map[string]*flight[T]
}

// A flight is a call that is under way, or over if done is closed.
type flight[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// errExited is the error of a call that has ended by runtime.Goexit.
var errExited = errors.New("the call has not returned")

// Do returns what op returns for key, of the call that is under way, or of a new one. All callers receive the same
// value, so nobody may change what it points to. The end of ctx ends the waiting, and not the call: others may wait for
// it. The context of op has the values of the caller that came first.
func (g *Group[T]) Do(ctx context.Context, key string, op func(ctx context.Context) (T, error)) (T, error) {
	f := g.join(ctx, key, op)
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// join returns the flight for key. If there is none, one begins.
func (g *Group[T]) join(ctx context.Context, key string, op func(ctx context.Context) (T, error)) *flight[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.flights[key]
	if f != nil {
		return f
	}

	f = &flight[T]{done: make(chan struct{}), err: errExited}
	if g.flights == nil {
		g.flights = make(map[string]*flight[T])
	}
	g.flights[key] = f
	go func() {
		defer g.land(key, f)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Timeout)
		defer cancel()
		f.value, f.err = backoff.DoWithData(ctx, g.Retrier, op)
	}()
	return f
}

// land ends a flight: who comes later begins another one.
func (g *Group[T]) land(key string, f *flight[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.flights, key)
	close(f.done)
}
