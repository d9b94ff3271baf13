package main

import (
	"context"
	"errors"
	"time"

	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"
)

// netflixWays are the limits of Netflix, in go-concurrency-limits. Calls or attempts without a permit wait, in order.
var netflixWays = []way{
	{"gradient2", "quick, outside", []setting{
		{"default", "around each attempt, which waits for 1 s", limited(gradient2, 100, time.Second, false)},
		{"quick", "limits of 1 to 200 from 4, windows of 10 samples, attempts wait for 4 s", limited(smallGradient2, 10, patience, false)},
		{"quick, outside", "the same around the retries", limited(smallGradient2, 10, patience, true)},
	}},
	{"vegas", "small, outside", []setting{
		{"default", "around each attempt, which waits for 1 s", limited(vegas, 100, time.Second, false)},
		{"quick", "windows of 10 samples, attempts wait for 4 s", limited(vegas, 10, patience, false)},
		{"small", "limits of 1 to 20 from 4, windows of 10 samples, attempts wait for 4 s", limited(smallVegas, 10, patience, false)},
		{"small, outside", "the same around the retries", limited(smallVegas, 10, patience, true)},
	}},
	{"aimd", "default", []setting{
		{"default", "around each attempt, which waits for 1 s", limited(aimd(0.9), 100, time.Second, false)},
		{"half", "half as much when late, windows of 10 samples, attempts wait for 4 s", limited(aimd(0.5), 10, patience, false)},
		{"outside", "windows of 10 samples, around the retries, calls wait for 4 s", limited(aimd(0.9), 10, patience, true)},
		{"half, outside", "half as much when late, around the retries", limited(aimd(0.5), 10, patience, true)},
	}},
}

func gradient2() core.Limit { return limit.NewDefaultGradient2Limit("", nil, nil) }

func smallGradient2() core.Limit {
	return must(limit.NewGradient2Limit("", 4, 200, 1, nil, 0.2, 600, nil, nil))
}

func vegas() core.Limit { return limit.NewDefaultVegasLimit("", nil, nil) }

func smallVegas() core.Limit {
	return limit.NewVegasLimitWithRegistry("", 4, nil, 20, -1, nil, nil, nil, nil, nil, -1, nil, nil)
}

func aimd(ratio float64) func() core.Limit {
	return func() core.Limit { return limit.NewAIMDLimit("", 10, ratio, 1, nil) }
}

var errLimited = errors.New("no permit")

// limited puts a limiter around the attempts of a loop, or around the loop. Its window has so many samples; waiting
// takes so long at most. What is late is dropped. What is refused is ignored: it says nothing of how long work takes.
func limited(of func() core.Limit, samples int, waiting time.Duration, outside bool) func(process) caller {
	return func(p process) caller {
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
				case errors.Is(err, errRefused):
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

// must returns a value whose settings are right.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
