package shared

import (
	"context"
	"net/http"
	"sync"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

var (
	constant                 = backoff.NewConstantBackOff(time.Second)
	replaced backoff.BackOff = backoff.NewExponentialBackOff()
)

func replace(b backoff.BackOff) { replaced = b }

func stateless(ctx context.Context, id string) {
	_ = backoff.Retry(op, backoff.WithContext(constant, ctx))
	_ = backoff.Retry(op, replaced)
	_ = backoff.Retry(op, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
}

// Nothing says that it runs more than once at a time.
func once(ctx context.Context) error { return backoff.Retry(op, backoff.WithContext(policy, ctx)) }

var mu sync.Mutex

func locked(ctx context.Context, id string) error {
	mu.Lock()
	defer mu.Unlock()
	return backoff.Retry(op, policy)
}

var semaphore = make(chan struct{}, 1)

func alone(ctx context.Context, id string) error {
	semaphore <- struct{}{}
	defer func() { <-semaphore }()
	return backoff.Retry(op, policy)
}

var start sync.Once

func started(ctx context.Context, id string) {
	start.Do(func() { _ = backoff.Retry(op, policy) })
}

// A session belongs to one request, whoever makes it.
type session struct{ policy backoff.BackOff }

func newSession() *session { return &session{policy: backoff.NewExponentialBackOff()} }

func (s *session) load(ctx context.Context, id string) error { return backoff.Retry(op, s.policy) }

// A request may make a client for itself.
func NewSession(w http.ResponseWriter, r *http.Request) *perRequest {
	b := backoff.NewExponentialBackOff()
	return &perRequest{policy: b}
}

type perRequest struct{ policy backoff.BackOff }

func (p *perRequest) load(ctx context.Context, id string) error { return backoff.Retry(op, p.policy) }

// A loop by hand that keeps its state in a field.
func (s *server) reconnect(ctx context.Context, id string) time.Duration {
	return s.policy.NextBackOff()
}

func each(names []string) {
	one := backoff.NewExponentialBackOff()
	go func() { _ = backoff.Retry(op, one) }()
	for range names {
		b := backoff.NewExponentialBackOff()
		go func() { _ = backoff.Retry(op, b) }()
		func() { _ = backoff.Retry(op, one) }()
	}
}

var fresh = own.Retrier{Policy: func() own.BackOff {
	b := own.NewExponentialBackOff()
	b.MaxInterval = time.Second
	return b
}}

// The policy of the one call that a Retrier makes.
func single(ctx context.Context) error {
	b := own.NewExponentialBackOff()
	r := own.Retrier{Policy: func() own.BackOff { return b }}
	return r.Do(ctx, func(context.Context) error { return nil })
}
