package shared

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

var policy = backoff.NewExponentialBackOff()

type server struct{ policy *backoff.ExponentialBackOff }

func NewServer() *server { return &server{policy: backoff.NewExponentialBackOff()} }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, s.policy) // want `loops that can run at the same time share policy, which holds the state of one: build a policy for each \[shared\]`
}

// Acquire takes no lock itself.
func Acquire(ctx context.Context, ids []string) func(attempt int) time.Duration {
	b := backoff.NewExponentialBackOff()
	for range ids {
		go func() { _ = backoff.Retry(op, b) }() // want `share b, which`
	}
	_ = backoff.Retry(op, backoff.WithContext(policy, ctx))           // want `share policy, which`
	return func(attempt int) time.Duration { return b.NextBackOff() } // want `share b, which`
}

var (
	steady = backoff.NewConstantBackOff(time.Second)
	mu     sync.Mutex
)

func right(ctx context.Context, ids []string) {
	_ = backoff.Retry(op, backoff.WithContext(steady, ctx))
	for range ids {
		b := backoff.NewExponentialBackOff()
		go func() { _ = backoff.Retry(op, b) }()
	}
}

func once(ctx context.Context) error { return backoff.Retry(op, backoff.WithContext(policy, ctx)) }

func locked(ctx context.Context, id string) error {
	mu.Lock()
	defer mu.Unlock()
	return backoff.Retry(op, backoff.WithContext(policy, ctx))
}

// A session belongs to one request, whoever makes it.
type session struct{ policy backoff.BackOff }

func newSession() *session { return &session{policy: backoff.NewExponentialBackOff()} }

func (s *session) load(ctx context.Context, id string) error {
	return backoff.Retry(op, backoff.WithContext(s.policy, ctx))
}

func op() error { return nil }
