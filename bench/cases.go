package bench

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"

	"example.com/backoff"
)

// Names of the tasks.
const (
	Success         = "Retry, first call succeeds"
	SuccessDefault  = "Retry, first call succeeds, default policy"
	OneFailure      = "Retry, one failure, zero wait"
	TenFailures     = "Retry, ten failures, zero wait"
	TenLimited      = "Retry, ten failures, zero wait, context and limit"
	ThreeWaits      = "Retry, three waits of 1 µs, context"
	TwelveWaits     = "Retry, twelve waits of 1 µs, context"
	NextDefault     = "NextBackOff, default exponential"
	NextNoLimit     = "NextBackOff, no elapsed limit"
	NextJitter      = "NextBackOff, no elapsed limit, " // and the jitter's name
	NextParallel    = "NextBackOff, default exponential, on all cores"
	BudgetSerial    = "Budget, withdraw and deposit"
	BudgetParallel  = "Budget, withdraw and deposit, on all cores"
	TickerTicks     = "Ticker, one tick, zero wait"
	NextOtherPolicy = "NextBackOff, " // and the policy's name
)

// Jitters are the strategies that are measured one by one.
var Jitters = []backoff.Jitter{
	backoff.ProportionalJitter, backoff.NoJitter, backoff.FullJitter,
	backoff.EqualJitter, backoff.DecorrelatedJitter, backoff.AdditiveJitter,
}

// A Case is one task done by one peer.
type Case struct {
	Task, Peer string
	Run        func(*testing.B)
}

// Cases returns all that is measured with the testing package. ctx is the context of those that
// have one; it should be one that can be cancelled.
func Cases(ctx context.Context) []Case {
	var cases []Case
	add := func(task, peer string, run func(*testing.B)) {
		cases = append(cases, Case{task, peer, run})
	}
	for _, task := range []struct {
		name     string
		failures int
		setup
	}{
		{Success, 0, setup{}},
		{OneFailure, 1, setup{}},
		{TenFailures, 10, setup{}},
		{TenLimited, 10, setup{ctx: ctx, limit: 20}},
		{ThreeWaits, 3, setup{ctx: ctx, wait: time.Microsecond}},
		{TwelveWaits, 12, setup{ctx: ctx, wait: time.Microsecond}},
	} {
		for _, p := range peers {
			add(task.name, p.name, calling(p.build(task.setup, failing(task.failures))))
		}
	}
	success := failing(0)
	add(SuccessDefault, Ours, oursDefault(success))
	add(SuccessDefault, Cenkalti4, cenkalti4Default(success))
	add(SuccessDefault, Cenkalti5, cenkalti5Default(success))

	add(NextDefault, Ours, asking(backoff.NewExponentialBackOff().NextBackOff))
	add(NextDefault, Cenkalti4, asking(cenkalti4.NewExponentialBackOff().NextBackOff))
	add(NextNoLimit, Cenkalti5, asking(cenkalti5.NewExponentialBackOff().NextBackOff))
	noLimit := cenkalti4.NewExponentialBackOff(cenkalti4.WithMaxElapsedTime(0))
	add(NextNoLimit, Cenkalti4, asking(noLimit.NextBackOff))
	for _, jitter := range Jitters {
		b := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithJitter(jitter))
		add(NextJitter+jitter.String(), Ours, asking(b.NextBackOff))
	}
	seeded := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithRand(rand.New(rand.NewPCG(1, 2))))
	add(NextOtherPolicy+"with a Rand of its own", Ours, asking(seeded.NextBackOff))
	add(NextOtherPolicy+"constant", Ours, asking(backoff.NewConstantBackOff(time.Second).NextBackOff))
	add(NextOtherPolicy+"linear", Ours, asking(backoff.NewLinearBackOff(time.Second).NextBackOff))

	add(NextParallel, Ours, askingInParallel(func() func() time.Duration {
		return backoff.NewExponentialBackOff().NextBackOff
	}))
	add(NextParallel, Cenkalti4, askingInParallel(func() func() time.Duration {
		return cenkalti4.NewExponentialBackOff().NextBackOff
	}))

	add(BudgetSerial, Ours, func(b *testing.B) {
		var budget backoff.Budget
		for b.Loop() {
			budget.Withdraw()
			budget.Deposit()
		}
	})
	add(BudgetParallel, Ours, func(b *testing.B) {
		var budget backoff.Budget
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				budget.Withdraw()
				budget.Deposit()
			}
		})
	})

	add(TickerTicks, Ours, func(b *testing.B) {
		ticker := backoff.NewTicker(&backoff.ZeroBackOff{})
		defer ticker.Stop()
		ticking(b, ticker.C)
	})
	add(TickerTicks, Cenkalti4, func(b *testing.B) {
		ticker := cenkalti4.NewTicker(&cenkalti4.ZeroBackOff{})
		defer ticker.Stop()
		ticking(b, ticker.C)
	})
	add(TickerTicks, Cenkalti5, func(b *testing.B) {
		ticker := cenkalti5.NewTicker(&cenkalti5.ZeroBackOff{})
		defer ticker.Stop()
		ticking(b, ticker.C)
	})
	return cases
}

// failing returns an operation that succeeds at each (n+1)th call.
func failing(n int) func() error {
	if n == 0 {
		return func() error { return nil }
	}
	calls := 0
	return func() error {
		if calls++; calls > n {
			calls = 0
			return nil
		}
		return errFailed
	}
}

func calling(retry func() error) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := retry(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func oursDefault(op func() error) func(*testing.B) {
	policy := backoff.NewExponentialBackOff()
	return calling(func() error { return backoff.Retry(op, policy) })
}

func cenkalti4Default(op func() error) func(*testing.B) {
	policy := cenkalti4.NewExponentialBackOff()
	return calling(func() error { return cenkalti4.Retry(op, policy) })
}

func cenkalti5Default(op func() error) func(*testing.B) {
	options := []cenkalti5.RetryOption{cenkalti5.WithBackOff(cenkalti5.NewExponentialBackOff())}
	withData := func() (struct{}, error) { return struct{}{}, op() }
	return calling(func() error {
		_, err := cenkalti5.Retry(context.Background(), withData, options...)
		return err
	})
}

func asking(next func() time.Duration) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			next()
		}
	}
}

// askingInParallel measures one policy for each goroutine.
func askingInParallel(policy func() func() time.Duration) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			next := policy()
			for pb.Next() {
				next()
			}
		})
	}
}

func ticking(b *testing.B, c <-chan time.Time) {
	b.ReportAllocs()
	for b.Loop() {
		<-c
	}
}
