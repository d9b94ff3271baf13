package main

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	v7 "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"
	"github.com/sony/gobreaker/v2"
)

// patience is how long calls wait for a place, where a timeout is one second and a deadline five.
const patience = 4 * time.Second

// peers are what somebody might take instead: as documented, and, without a name of their own, in the setting that
// loses least over all scenes, of those that we tried.
var peers = []way{
	// A channel. The right number is the best, if a call stops waiting while there is still time for an attempt.
	{"semaphore", "semaphore", func(p *process) caller { return semaphore(p.world.right(p.number), loop(p.once)) }},

	// Retries only add to the load: two tries are the best.
	{"v7-readme", "cenkalti v7: its README", func(p *process) caller { return tries(p.once, 5) }},
	{"v7", "cenkalti v7", func(p *process) caller { return tries(p.once, 2) }},

	// In its example it looks at all calls since it last closed, so good ones long ago keep it closed. It is best if it
	// looks at ten seconds, opens for one, and calls that find it open are not retried.
	{"gobreaker-example", "gobreaker: its example", breaker(gobreaker.Settings{ReadyToTrip: failingShare(3, 0.6)}, false)},
	{"gobreaker", "gobreaker", breaker(gobreaker.Settings{
		Interval: 10 * time.Second, BucketPeriod: time.Second, Timeout: time.Second, MaxRequests: 3, ReadyToTrip: failingShare(10, 0.5),
	}, true)},

	{"failsafe-budget-default", "failsafe-go's budget: default", failsafeWith(retriesPaidBy(budget.New))},
	{"failsafe-budget", "failsafe-go's budget",
		failsafeWith(retriesPaidBy(budget.NewBuilder().WithMaxRate(0.1).WithMinConcurrency(1).Build))},

	// By default it refuses, and each refusal is retried. It is best around the whole call, which it then counts once,
	// with a small first limit and a long queue.
	{"failsafe-limiter-default", "failsafe-go's limiter: default", failsafeWith(retries(), func(*process) failsafe.Policy[any] {
		return adaptivelimiter.NewBuilder[any]().Build()
	})},
	{"failsafe-limiter", "failsafe-go's limiter", failsafeWith(func(*process) failsafe.Policy[any] {
		return adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 5).WithRecentWindow(time.Second, 30*time.Second, 10).
			WithQueueing(10, 20).WithMaxWaitTime(patience).Build()
	}, retries())},

	// It is best if it looks at ten seconds, and if what it refuses is not retried.
	{"failsafe-throttler-default", "failsafe-go's throttler: default", failsafeWith(retries(), func(*process) failsafe.Policy[any] {
		return adaptivethrottler.NewBuilder[any]().Build()
	})},
	{"failsafe-throttler", "failsafe-go's throttler", failsafeWith(retries(adaptivethrottler.ErrExceeded), func(*process) failsafe.Policy[any] {
		return adaptivethrottler.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, 10*time.Second).Build()
	})},

	// Its circuit breaker opens for a minute in its documentation. It is best if it looks at ten seconds and opens for five,
	// half of that up or down.
	{"failsafe-example", "failsafe-go: its example", failsafeWith(retries(), func(*process) failsafe.Policy[any] {
		return circuitbreaker.NewBuilder[any]().WithFailureThreshold(5).WithDelay(time.Minute).WithSuccessThreshold(2).Build()
	})},
	{"failsafe", "failsafe-go", failsafeWith(retries(), func(*process) failsafe.Policy[any] {
		return circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, 10*time.Second).WithSuccessThreshold(3).
			WithDelayFunc(func(e failsafe.ExecutionAttempt[any]) time.Duration { return 10 * delay(e.Context(), 1) }).Build()
	})},

	// Netflix's limits. By default a process never has a limit of gradient2 below 20. Quick windows and a small limit are
	// the best, around the whole call. Aimd's default is the best.
	{"gradient2-default", "gradient2: default", limited(func() core.Limit {
		return limit.NewDefaultGradient2Limit("", nil, nil)
	}, 100, time.Second, false)},
	{"gradient2", "gradient2", limited(func() core.Limit {
		return must(limit.NewGradient2Limit("", 4, 200, 1, nil, 0.2, 600, nil, nil))
	}, 10, patience, true)},
	{"vegas-default", "vegas: default", limited(func() core.Limit { return limit.NewDefaultVegasLimit("", nil, nil) }, 100, time.Second, false)},
	{"vegas", "vegas", limited(func() core.Limit {
		return limit.NewVegasLimitWithRegistry("", 4, nil, 20, -1, nil, nil, nil, nil, nil, -1, nil, nil)
	}, 10, patience, true)},
	{"aimd", "aimd", limited(func() core.Limit { return limit.NewAIMDLimit("", 10, 0.9, 1, nil) }, 100, time.Second, false)},

	// It is best with a fifth of its tokens. The adaptive mode only slows down for throttling errors by default. It is best
	// if timeouts count as such.
	{"aws-standard-default", "AWS standard: default", awsStandard(500)},
	{"aws-standard", "AWS standard", awsStandard(100)},
	{"aws-default", "AWS: default", awsAdaptive(false)},
	{"aws", "AWS", awsAdaptive(true)},

	// Four retries by default, one is the best.
	{"retryablehttp-default", "go-retryablehttp: default", retryableHTTP(4)},
	{"retryablehttp", "go-retryablehttp", retryableHTTP(1)},
}

// delay returns a wait after so many attempts. All libraries that have no waits of their own, or whose waits cannot be
// seeded otherwise, get this one, which is the default of cenkalti/backoff in all of its releases.
func delay(ctx context.Context, attempts int) time.Duration {
	return seconds(0.5 * math.Pow(1.5, float64(attempts-1)) * (0.5 + callOf(ctx).random.Float64()))
}

// loop is what somebody writes by hand: three retries.
func loop(do caller) caller {
	return func(ctx context.Context) error {
		for attempts := 1; ; attempts++ {
			err := do(ctx)
			if err == nil || attempts == 4 {
				return err
			}
			err = pause(ctx, delay(ctx, attempts).Seconds(), nil)
			if err != nil {
				return err
			}
		}
	}
}

// semaphore lets n calls at once through. The others wait.
func semaphore(n int, do caller) caller {
	places := make(chan struct{}, n)
	return func(ctx context.Context) error {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case places <- struct{}{}:
		case <-waiting.Done():
			return waiting.Err()
		}
		defer func() { <-places }()
		return do(ctx)
	}
}

// seededWaits is a policy of cenkalti/backoff with seeded waits.
type seededWaits struct {
	ctx      context.Context
	attempts int
}

func (w *seededWaits) Reset() { w.attempts = 0 }

func (w *seededWaits) NextBackOff() time.Duration {
	w.attempts++
	return delay(w.ctx, w.attempts)
}

// errOpen says that a breaker is open, and that this is not to be retried.
var errOpen = errors.New("open, not retried")

func tries(do caller, n uint) caller {
	return func(ctx context.Context) error {
		_, err := v7.Retry(ctx, func() (any, error) {
			err := do(ctx)
			if errors.Is(err, errOpen) {
				err = v7.Permanent(err)
			}
			return nil, err
		}, v7.WithBackOff(&seededWaits{ctx: ctx}), v7.WithMaxTries(n))
		return err
	}
}

// breaker puts gobreaker around each attempt of a loop. A final one ends the loop when it is open.
func breaker(s gobreaker.Settings, final bool) func(*process) caller {
	return func(p *process) caller {
		b := gobreaker.NewCircuitBreaker[any](s)
		return tries(func(ctx context.Context) error {
			_, err := b.Execute(func() (any, error) { return nil, p.once(ctx) })
			open := errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
			if final && open {
				return errOpen
			}
			return err
		}, 4)
	}
}

// failingShare returns a condition: a share of at least so many requests.
func failingShare(least uint32, share float64) func(gobreaker.Counts) bool {
	return func(c gobreaker.Counts) bool {
		return c.Requests >= least && float64(c.TotalFailures) >= share*float64(c.Requests)
	}
}

// maker makes a policy of failsafe-go for a process.
type maker func(*process) failsafe.Policy[any]

// failsafeWith composes policies around an attempt. The first is the outermost.
func failsafeWith(makers ...maker) func(*process) caller {
	return func(p *process) caller {
		var policies []failsafe.Policy[any]
		for _, of := range makers {
			policies = append(policies, of(p))
		}
		executor := failsafe.With(policies...)
		return func(ctx context.Context) error {
			return executor.WithContext(ctx).RunWithExecution(func(e failsafe.Execution[any]) error { return p.once(e.Context()) })
		}
	}
}

// retries are three. They end with some errors.
func retries(final ...error) maker {
	return func(*process) failsafe.Policy[any] { return retryBuilder().AbortOnErrors(final...).Build() }
}

func retriesPaidBy(build func() budget.Budget) maker {
	return func(*process) failsafe.Policy[any] { return retryBuilder().WithBudget(build()).Build() }
}

func retryBuilder() retrypolicy.Builder[any] {
	return retrypolicy.NewBuilder[any]().WithMaxRetries(3).WithDelayFunc(func(e failsafe.ExecutionAttempt[any]) time.Duration {
		return delay(e.Context(), e.Attempts())
	})
}

var errLimited = errors.New("no permit")

// limited puts one of Netflix's limits around the attempts of a loop, or around the loop. Its window has so many
// samples. Who has no permit waits in order, for so long at most. It is told nothing of attempts that were refused, which
// is kind: the limits would fall, though nothing is overloaded.
func limited(of func() core.Limit, samples int, waiting time.Duration, outside bool) func(*process) caller {
	return func(p *process) caller {
		l := of()
		inner := must(limiter.NewDefaultLimiter(l, 1e9, 1e9, 1e5, samples, strategy.NewSimpleStrategy(l.EstimatedLimit()),
			limit.NoopLimitLogger{}, core.EmptyMetricRegistryInstance))
		all := limiter.NewQueueBlockingLimiterFromConfig(inner, limiter.QueueLimiterConfig{
			Ordering: limiter.OrderingFIFO, MaxBacklogSize: 100, MaxBacklogTimeout: waiting, BacklogEvictDoneCtx: true,
		})
		permitted := func(do caller) caller {
			return func(ctx context.Context) error {
				permit, ok := all.Acquire(ctx)
				if !ok {
					return errLimited
				}
				err := do(ctx)
				switch {
				case err == nil:
					permit.OnSuccess()
				case errors.Is(err, errFailed):
					permit.OnIgnore()
				default:
					permit.OnDropped()
				}
				return err
			}
		}
		if outside {
			return permitted(loop(p.once))
		}
		return loop(permitted(p.once))
	}
}

// awsCalls makes calls as the SDK does.
func awsCalls(p *process, r aws.Retryer) caller {
	attempts := retry.NewAttemptMiddleware(r, func(request any) any { return request })
	return func(ctx context.Context) error {
		_, _, err := attempts.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
			func(ctx context.Context, _ middleware.FinalizeInput) (out middleware.FinalizeOutput, data middleware.Metadata, err error) {
				return out, data, p.once(ctx)
			}))
		return err
	}
}

func awsStandard(tokens uint) func(*process) caller {
	return func(p *process) caller {
		return awsCalls(p, retry.NewStandard(func(o *retry.StandardOptions) {
			o.RateLimiter = ratelimit.NewTokenRateLimit(tokens)
		}))
	}
}

// awsAdaptive may take what is late for throttling.
func awsAdaptive(late bool) func(*process) caller {
	return func(p *process) caller {
		return awsCalls(p, polling{retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
			o.FailOnNoAttemptTokens = true
			o.Throttles = append(o.Throttles, retry.IsErrorThrottleFunc(func(err error) aws.Ternary {
				if late && errors.Is(err, errLate) {
					return aws.TrueTernary
				}
				return aws.UnknownTernary
			}))
		})})
	}
}

// polling waits for a token in place of the retryer, whose own wait is rounded down: at last it waits for 0 ns, again
// and again, and simulated time stands still.
type polling struct{ *retry.AdaptiveMode }

// GetAttemptToken implements aws.RetryerV2.
func (p polling) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	const every = 0.02
	for {
		release, err := p.AdaptiveMode.GetAttemptToken(ctx)
		if err == nil {
			return release, nil
		}
		if pause(ctx, every, nil) != nil {
			return nil, ctx.Err()
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// retryableHTTP makes requests with go-retryablehttp.
func retryableHTTP(retries int) func(*process) caller {
	return func(p *process) caller {
		client := retryablehttp.NewClient()
		client.Logger = nil
		client.RetryMax = retries
		client.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			err := p.once(r.Context())
			code := http.StatusOK
			switch {
			case errors.Is(err, errFailed):
				code = http.StatusServiceUnavailable
			case err != nil:
				return nil, err
			}
			return &http.Response{StatusCode: code, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
		})}
		return func(ctx context.Context) error {
			resp, err := client.Do(must(retryablehttp.NewRequestWithContext(ctx, http.MethodGet, "http://service/", nil)))
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}
	}
}

// must returns a value whose settings are right.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
