package bench_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"
	cenkalti7 "github.com/cenkalti/backoff/v7"

	"example.com/backoff"
)

// Names of the tasks, as they stand in the benchmarks' names.
const (
	perCall        = "per-call"
	ready          = "ready"
	readyConstant  = "ready-constant"
	readyBudget    = "ready-budget"
	oneFailure     = "one-failure"
	tenFailures    = "ten-failures"
	tenLimited     = "ten-failures-limited"
	threeWaits     = "three-waits"
	twelveWaits    = "twelve-waits"
	nextDefault    = "next"
	nextParallel   = "next-parallel"
	nextUnlimited  = "next-unlimited-" // and the jitter
	nextRand       = "next-rand"
	nextConstant   = "next-constant"
	nextLinear     = "next-linear"
	budgetSerial   = "budget"
	budgetParallel = "budget-parallel"
	ticks          = "tick"
	waitingCalls   = "waiting-call"
)

// Entries of the library beside ours and attempts.
const (
	sized = ours + "-Budget"
	fixed = ours + "-Budget-fixed"
)

// leaves are the policies of the library that wrap nothing, as entries of readyConstant. But
// ExponentialBackOff reads the clock in Reset, which takes longer than some whole loops; see ready.
var leaves = []struct {
	name   string
	policy backoff.BackOff
}{
	{ours, backoff.NewConstantBackOff(0)},
	{ours + "-Linear", backoff.NewLinearBackOff(0)},
	{ours + "-Zero", &backoff.ZeroBackOff{}},
	{ours + "-Stop", &backoff.StopBackOff{}},
}

// jitters are all strategies of the library.
var jitters = func() (all []backoff.Jitter) {
	for j := backoff.ProportionalJitter; !strings.HasPrefix(j.String(), "Jitter("); j++ {
		all = append(all, j)
	}
	return all
}()

// A task is a piece of work and the peers that do it.
type task struct {
	name     string
	parallel bool // measured on all cores
	entries  []entry
}

// An entry is how one peer does it. Build returns a function that does the task n times.
type entry struct {
	peer  string
	build func(tb testing.TB) func(n int)
}

// succeeding is Retry over b, whose first attempt succeeds.
func succeeding(b backoff.BackOff) func(testing.TB) func(n int) {
	return func(tb testing.TB) func(n int) {
		return func(n int) {
			for range n {
				if err := backoff.Retry(func() error { return nil }, b); err != nil {
					tb.Error(err)
				}
			}
		}
	}
}

// tasks returns all that is measured in time and allocations.
func tasks(ctx context.Context) []task {
	all := []task{
		{name: perCall, entries: entriesOf(func(p peer) retry { return p.perCall(ctx, failing(0)) })},
		{name: ready, entries: entriesOf(func(p peer) retry { return p.ready(ctx, failing(0)) })},
	}
	for _, t := range []struct {
		name     string
		failures int
		setup
	}{
		{readyConstant, 0, setup{}},
		{oneFailure, 1, setup{}},
		{tenFailures, 10, setup{}},
		{tenLimited, 10, setup{ctx: ctx, maxRetries: 20}},
		{threeWaits, 3, setup{ctx: ctx, wait: time.Microsecond}},
		{twelveWaits, 12, setup{ctx: ctx, wait: time.Microsecond}},
	} {
		all = append(all, task{name: t.name, entries: entriesOf(func(p peer) retry {
			return p.constant(t.setup, failing(t.failures))
		})})
	}
	for i := range all {
		if all[i].name == readyConstant {
			for _, leaf := range leaves[1:] {
				all[i].entries = append(all[i].entries, entry{leaf.name, succeeding(leaf.policy)})
			}
		}
	}
	all = append(all, task{name: readyBudget, entries: []entry{
		{sized, succeeding(backoff.WithBudget(&backoff.ZeroBackOff{}, new(backoff.Budget)))},
		{fixed, succeeding(backoff.WithBudget(&backoff.ZeroBackOff{}, &backoff.Budget{Capacity: 500}))},
	}})
	nextEntries := []entry{
		{ours, asking(func() policy { return backoff.NewExponentialBackOff() })},
		{cenkaltiV4, asking(func() policy { return cenkalti4.NewExponentialBackOff() })},
	}
	all = append(all,
		task{name: nextDefault, entries: nextEntries},
		task{name: nextParallel, entries: nextEntries, parallel: true})
	for _, jitter := range jitters {
		all = append(all, task{name: nextUnlimited + jitter.String(), entries: []entry{
			{ours, asking(func() policy {
				return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithJitter(jitter))
			})},
			{cenkaltiV4, asking(func() policy { return cenkalti4.NewExponentialBackOff(cenkalti4.WithMaxElapsedTime(0)) })},
			{cenkaltiV5, asking(func() policy { return cenkalti5.NewExponentialBackOff() })},
			{cenkaltiV7, asking(func() policy { return cenkalti7.NewExponentialBackOff() })},
		}})
	}
	budget := &backoff.Budget{RetryCost: 5, SuccessRefund: 5} // never empty
	pay := []entry{{ours, func(testing.TB) func(n int) {
		return func(n int) {
			for range n {
				budget.Withdraw()
				budget.Deposit()
			}
		}
	}}}
	return append(all,
		task{name: nextRand, entries: []entry{{ours, asking(func() policy {
			return backoff.NewExponentialBackOff(backoff.WithRand(rand.New(rand.NewPCG(1, 2))))
		})}}},
		task{name: nextConstant, entries: []entry{
			{ours, asking(func() policy { return backoff.NewConstantBackOff(time.Second) })},
			{cenkaltiV4, asking(func() policy { return cenkalti4.NewConstantBackOff(time.Second) })},
		}},
		task{name: nextLinear, entries: []entry{{ours, asking(func() policy {
			return backoff.NewLinearBackOff(time.Second)
		})}}},
		task{name: budgetSerial, entries: pay},
		task{name: budgetParallel, entries: pay, parallel: true},
		task{name: ticks, entries: []entry{
			{ours, func(tb testing.TB) func(int) {
				ticker := backoff.NewTicker(&backoff.ZeroBackOff{})
				tb.Cleanup(ticker.Stop)
				return receiving(ticker.C)
			}},
			{cenkaltiV4, func(tb testing.TB) func(int) {
				ticker := cenkalti4.NewTicker(&cenkalti4.ZeroBackOff{})
				tb.Cleanup(ticker.Stop)
				return receiving(ticker.C)
			}},
			{cenkaltiV5, func(tb testing.TB) func(int) {
				ticker := cenkalti5.NewTicker(&cenkalti5.ZeroBackOff{})
				tb.Cleanup(ticker.Stop)
				return receiving(ticker.C)
			}},
			{cenkaltiV7, func(tb testing.TB) func(int) {
				ticker := cenkalti7.NewTicker(&cenkalti7.ZeroBackOff{})
				tb.Cleanup(ticker.Stop)
				return receiving(ticker.C)
			}},
		}})
}

func entriesOf(build func(p peer) retry) []entry {
	entries := make([]entry, len(peers))
	for i, p := range peers {
		entries[i] = entry{p.name, func(tb testing.TB) func(int) {
			retry := build(p)
			return func(n int) {
				for range n {
					if err := retry(); err != nil {
						tb.Error(err)
						return
					}
				}
			}
		}}
	}
	return entries
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

type policy interface{ NextBackOff() time.Duration }

func asking(build func() policy) func(testing.TB) func(int) {
	return func(testing.TB) func(int) {
		b := build()
		return func(n int) {
			for range n {
				b.NextBackOff()
			}
		}
	}
}

func receiving(c <-chan time.Time) func(int) {
	return func(n int) {
		for range n {
			<-c
		}
	}
}
