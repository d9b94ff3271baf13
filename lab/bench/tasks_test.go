package bench_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"
	cenkalti7 "github.com/cenkalti/backoff/v7"

	"example.com/backoff"
)

// Names of the tasks, as they stand in the benchmarks' names.
const (
	perCall       = "per-call"
	timedCall     = "timed-call"
	timedParallel = "timed-call-parallel"
	ready         = "ready"
	readyConstant = "ready-constant"
	tenFailures   = "ten-failures"
	nextDefault   = "next"
	nextUnlimited = "next-unlimited-" // and the jitter
)

// A Retrier with a timeout, slots and a budget, as an entry of timedCall.
const (
	service  = ours + "-Retrier"          // the slots size themselves
	numbered = ours + "-Retrier-NewSlots" // there are enough
)

// What programs set for timedCall.
const (
	attemptTimeout = 2 * time.Second
	atOnce         = 20
)

// leaves are the policies of the library that wrap nothing, as entries of readyConstant. ExponentialBackOff is left
// out: it reads the clock in Reset, which takes longer than some whole loops; see ready.
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
	name    string
	entries []entry
}

// An entry is how one peer does it. Build returns a function that does the task n times.
type entry struct {
	peer  string
	build func(tb testing.TB) func(n int)
}

// tasks returns all that is measured.
func tasks(ctx context.Context) []task {
	succeeds := failing(0)
	all := []task{
		{perCall, entriesOf(func(p peer) retry { return p.perCall(ctx, succeeds) })},
		{timedCall, append(
			entriesOf(func(p peer) retry { return p.perCall(ctx, timed(ctx)) }),
			entry{service, repeating(func() retry { return serviceCall(ctx, new(backoff.Slots)) })},
			entry{numbered, repeating(func() retry { return serviceCall(ctx, backoff.NewSlots(atOnce)) })},
		)},
		{timedParallel, []entry{
			{service, inParallel(func() retry { return serviceCall(ctx, new(backoff.Slots)) })},
			{numbered, inParallel(func() retry { return serviceCall(ctx, backoff.NewSlots(atOnce)) })},
		}},
		{ready, entriesOf(func(p peer) retry { return p.ready(ctx, succeeds) })},
		{readyConstant, append(entriesOf(func(p peer) retry { return p.constant(nil, 0, succeeds) }), leafEntries(succeeds)...)},
		{tenFailures, entriesOf(func(p peer) retry { return p.constant(nil, 0, failing(10)) })},
		{nextDefault, []entry{
			{ours, asking(func() policy { return backoff.NewExponentialBackOff() })},
			{cenkaltiV4, asking(func() policy { return cenkalti4.NewExponentialBackOff() })},
		}},
	}
	for _, jitter := range jitters {
		all = append(all, nextTask(jitter))
	}
	return all
}

// leafEntries are the leaves but for the first, which is in peers.
func leafEntries(op func() error) (entries []entry) {
	for _, leaf := range leaves[1:] {
		entries = append(entries, entry{leaf.name, repeating(func() retry { return over(leaf.policy, op) })})
	}
	return entries
}

// nextTask is NextBackOff without a limit of time, with a strategy of jitter here and with their own elsewhere.
func nextTask(jitter backoff.Jitter) task {
	return task{nextUnlimited + jitter.String(), []entry{
		{ours, asking(func() policy {
			return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithJitter(jitter))
		})},
		{cenkaltiV5, asking(func() policy { return cenkalti5.NewExponentialBackOff() })},
		{cenkaltiV7, asking(func() policy { return cenkalti7.NewExponentialBackOff() })},
	}}
}

func entriesOf(build func(p peer) retry) []entry {
	entries := make([]entry, len(peers))
	for i, p := range peers {
		entries[i] = entry{p.name, repeating(func() retry { return build(p) })}
	}
	return entries
}

// repeating does what build returns n times.
func repeating(build func() retry) func(testing.TB) func(n int) {
	return func(tb testing.TB) func(n int) {
		retry := build()
		return func(n int) {
			for range n {
				if err := retry(); err != nil {
					tb.Error(err)
					return
				}
			}
		}
	}
}

// inParallel does what build returns n times, on all cores.
func inParallel(build func() retry) func(testing.TB) func(n int) {
	return func(tb testing.TB) func(n int) {
		run := repeating(build)(tb)
		return func(n int) {
			var workers sync.WaitGroup
			cores := runtime.GOMAXPROCS(0)
			for i := range cores {
				workers.Go(func() { run((n + i) / cores) })
			}
			workers.Wait()
		}
	}
}

// timed returns an operation with a timeout for each attempt, as programs write it by hand.
func timed(ctx context.Context) func() error {
	return func() error {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return succeed(attempt)
	}
}

// serviceCall makes the same call by a Retrier, with slots and a budget besides.
func serviceCall(ctx context.Context, slots *backoff.Slots) retry {
	r := backoff.Retrier{
		AttemptTimeout: attemptTimeout,
		Slots:          slots,
		MaxAttempts:    maxRetries + 1,
		Budget:         new(backoff.Budget),
	}
	return func() error { return r.Do(ctx, succeed) }
}

func succeed(context.Context) error { return nil }

// failing returns an operation that succeeds at each (n+1)th call.
func failing(n int) func() error {
	if n == 0 {
		return func() error { return nil }
	}
	calls := 0
	return func() error {
		calls++
		if calls > n {
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
