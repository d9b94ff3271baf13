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
	limited  = backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10)
	literal  = &backoff.ExponentialBackOff{InitialInterval: time.Second}
	linear   = own.NewLinearBackOff(time.Second)
	budgeted = own.WithBudget(own.NewConstantBackOff(time.Second), &own.Budget{})

	constant = backoff.NewConstantBackOff(time.Second)
	zero     = &backoff.ZeroBackOff{}
	budget   = &own.Budget{}
	template = backoff.ExponentialBackOff{InitialInterval: time.Second}
	chosen   backoff.BackOff // by another package
	replaced backoff.BackOff = backoff.NewExponentialBackOff()
)

func variables(ctx context.Context, id string) {
	_ = backoff.Retry(op, limited)                                               // want `share the policy in limited`
	_ = backoff.Retry(op, backoff.WithContext(literal, ctx))                     // want `share the policy in literal`
	_ = backoff.RetryNotify(op, literal, nil)                                    // want `share the policy in literal`
	_, _ = backoff.RetryWithData(func() (int, error) { return 0, nil }, literal) // want `share the policy in literal` `goes on when ctx is done`
	_ = backoff.NewTicker(literal)                                               // want `share the policy in literal`
	_ = literal.NextBackOff()                                                    // want `share the policy in literal`
	_ = own.Retry(op, linear)                                                    // want `share the policy in linear`
	_ = own.Retry(op, budgeted)                                                  // want `share the policy in budgeted`

	_ = backoff.Retry(op, constant)
	_ = backoff.Retry(op, zero)
	_ = backoff.Retry(op, backoff.WithMaxRetries(backoff.WithContext(constant, ctx), 3))
	_ = own.Retry(op, own.WithBudget(own.NewExponentialBackOff(), budget))
	_ = backoff.Retry(op, chosen)
	_ = backoff.Retry(op, replaced)
	copied := template
	_ = backoff.Retry(op, &copied)
}

func replace(b backoff.BackOff) { replaced = b }

// Nothing says that these run more than once at a time.
func once() error                      { return backoff.Retry(op, limited) }
func run(ctx context.Context) error    { return backoff.Retry(op, backoff.WithContext(limited, ctx)) }
func connect(name string, n int) error { return backoff.Retry(op, limited) }

var mu sync.Mutex

func locked(ctx context.Context, id string) error {
	mu.Lock()
	defer mu.Unlock()
	return backoff.Retry(op, limited)
}

type server struct {
	policy  backoff.BackOff
	steady  backoff.BackOff
	given   backoff.BackOff
	renewed backoff.BackOff
}

func newServer(given backoff.BackOff) *server {
	policy := backoff.NewExponentialBackOff()
	policy.MaxInterval = time.Second
	return &server{policy: policy, steady: backoff.NewConstantBackOff(time.Second), given: given}
}

func (s *server) update(ctx context.Context, id string) {
	_ = backoff.Retry(op, s.policy) // want `share the policy in policy`
	_ = backoff.Retry(op, s.steady)
	_ = backoff.Retry(op, s.given)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, s.policy) // want `share the policy in policy`
}

// A loop that keeps its state in a field.
func (s *server) reconnect(ctx context.Context, id string) time.Duration {
	return s.policy.NextBackOff()
}

func perCall(ctx context.Context, id string) {
	b := backoff.NewExponentialBackOff()
	_ = backoff.Retry(op, b)
	func() { _ = backoff.Retry(op, b) }()
}

type group struct{}

func (group) Go(f func()) { go f() }

func goroutines(names []string, g group) {
	b := backoff.NewExponentialBackOff()
	for range names {
		go func() {
			_ = backoff.Retry(op, b) // want `share the policy in b`
		}()
		g.Go(func() {
			_ = backoff.Retry(op, b) // want `share the policy in b`
		})
	}
	worker := func() {
		_ = b.NextBackOff() // want `share the policy in b`
	}
	for range 4 {
		go worker()
	}

	one := backoff.NewExponentialBackOff()
	go func() { _ = backoff.Retry(op, one) }()
	for range names {
		each := backoff.NewExponentialBackOff()
		go func() { _ = backoff.Retry(op, each) }()
		go func() {
			mine := backoff.NewExponentialBackOff()
			_ = backoff.Retry(op, mine)
		}()
		func() { _ = backoff.Retry(op, one) }()
	}
}

func handlers(mux *http.ServeMux) {
	b := backoff.NewExponentialBackOff()
	mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {
		_ = backoff.Retry(op, b) // want `share the policy in b`
	})
	mux.HandleFunc("/b", func(w http.ResponseWriter, r *http.Request) {
		_ = backoff.Retry(op, backoff.NewExponentialBackOff())
	})
}

type config struct {
	RetryBackoff func(attempt int) time.Duration
	Interval     func() time.Duration
}

func hooks(exp *backoff.ExponentialBackOff, any backoff.BackOff) config {
	b := backoff.NewExponentialBackOff()
	_ = config{RetryBackoff: func(attempt int) time.Duration {
		return exp.NextBackOff() // want `share the policy in exp`
	}}
	_ = config{RetryBackoff: func(int) time.Duration { return any.NextBackOff() }}
	return config{
		RetryBackoff: func(attempt int) time.Duration {
			if attempt == 1 {
				b.Reset()
			}
			return b.NextBackOff() // want `share the policy in b`
		},
		Interval: func() time.Duration { return b.NextBackOff() },
	}
}

func lockedHook() {
	b := backoff.NewExponentialBackOff()
	_ = config{RetryBackoff: func(int) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return b.NextBackOff()
	}}
}

func op() error { return nil }
