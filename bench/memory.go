package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"

	"example.com/backoff"
)

// Waiting is the task of keeping many calls waiting at once.
const Waiting = "bytes per call, 100,000 calls waiting"

// Waiters are those whose waiting calls are weighed. Each builds a function that fails once and
// then waits until ctx ends.
var Waiters = []struct {
	Peer  string
	Build func(ctx context.Context, op func() error) func() error
}{
	{Hand, waiting(hand)},
	{Ours, func(ctx context.Context, op func() error) func() error {
		return func() error {
			return backoff.Retry(op, backoff.WithContext(backoff.NewConstantBackOff(time.Hour), ctx))
		}
	}},
	{Cenkalti4, func(ctx context.Context, op func() error) func() error {
		return func() error {
			return cenkalti4.Retry(op, cenkalti4.WithContext(cenkalti4.NewConstantBackOff(time.Hour), ctx))
		}
	}},
	{Cenkalti5, func(ctx context.Context, op func() error) func() error {
		return func() error {
			_, err := cenkalti5.Retry(ctx, func() (struct{}, error) { return struct{}{}, op() },
				cenkalti5.WithBackOff(cenkalti5.NewConstantBackOff(time.Hour)), cenkalti5.WithMaxElapsedTime(0))
			return err
		}
	}},
	{RetryGo, waiting(avast)},
	{GoRetry, waiting(sethvargo)},
	{Failsafe, waiting(failsafeGo)},
	{Eapache, waiting(eapache)},
}

// waiting has a peer wait an hour, or until ctx ends.
func waiting(build func(setup, func() error) func() error) func(context.Context, func() error) func() error {
	return func(ctx context.Context, op func() error) func() error {
		return build(setup{wait: time.Hour, ctx: ctx}, op)
	}
}

// Weigh keeps n calls of what build builds waiting, and returns the bytes of heap and stack that
// each of them takes, and how long it took all of them to return once they were cancelled.
func Weigh(n int, build func(context.Context, func() error) func() error) (bytesPerCall float64, end time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var failed atomic.Int64
	op := func() error {
		failed.Add(1)
		return errFailed
	}
	before := inUse()
	var group sync.WaitGroup
	for range n {
		group.Go(func() { _ = build(ctx, op)() })
	}
	for failed.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // from the failure to the wait
	after := inUse()
	start := time.Now()
	cancel()
	group.Wait()
	return (after - before) / float64(n), time.Since(start)
}

func inUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
