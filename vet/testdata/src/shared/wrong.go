package shared

import (
	"context"
	"net/http"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

var (
	policy  = backoff.NewExponentialBackOff()
	limited = backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10)
)

func load(ctx context.Context, id string) error {
	return backoff.Retry(op, backoff.WithContext(policy, ctx)) // want `loops that can run at the same time share policy, which holds the state of one: build a policy for each \[shared\]`
}

func generic[T any](ctx context.Context, id T) time.Duration {
	_ = backoff.Retry(op, limited) // want `share limited, which`
	return policy.NextBackOff()    // want `share policy, which`
}

type server struct {
	policy *backoff.ExponentialBackOff
	linear *own.LinearBackOff
}

func NewServer() *server {
	return &server{policy: backoff.NewExponentialBackOff(), linear: own.NewLinearBackOff(time.Second)}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, s.policy) // want `share policy, which`
}

func (s *server) update(ctx context.Context, id string) {
	errs := make(chan error, 1)
	errs <- own.Retry(op, s.linear) // want `share linear, which`
}

func handlers(mux *http.ServeMux) {
	b := backoff.NewExponentialBackOff()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_ = backoff.Retry(op, b) // want `share b, which`
	})
}

func goroutines(names []string, g group) {
	b := backoff.NewExponentialBackOff()
	worker := func() {
		_ = backoff.Retry(op, b) // want `share b, which`
	}
	for range names {
		go worker()
		g.Go(func() {
			_ = backoff.NewTicker(b) // want `share b, which`
		})
	}
}

// All goroutines of a client call its hook.
func hooks(exact *backoff.ExponentialBackOff) []func(attempt int) time.Duration {
	b := backoff.NewExponentialBackOff()
	return []func(attempt int) time.Duration{
		func(attempt int) time.Duration { return b.NextBackOff() }, // want `share b, which`
		func(int) time.Duration { return exact.NextBackOff() },     // want `share exact, which`
	}
}

// A Retrier calls its Policy for each call.
var users = own.Retrier{Policy: func() own.BackOff { return shared }} // want `share shared, which`

var shared = own.NewExponentialBackOff()

func NewOrders() *own.Retrier {
	b := own.NewExponentialBackOff()
	var orders own.Retrier
	orders.Policy = func() own.BackOff { return b } // want `share b, which`
	return &orders
}

type group struct{}

func (group) Go(f func()) { go f() }

var op func() error
