package bench_test

import (
	"context"
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
	perCall       = "per-call"
	timedCall     = "timed-call"
	ready         = "ready"
	readyConstant = "ready-constant"
	readyBudget   = "ready-budget"
	oneFailure    = "one-failure"
	tenFailures   = "ten-failures"
	tenLimited    = "ten-failures-limited"
	threeWaits    = "three-waits"
	twelveWaits   = "twelve-waits"
	nextDefault   = "next"
	nextUnlimited = "next-unlimited-" // and the jitter
	budgetSerial  = "budget"
	waitingCalls  = "waiting-call"
)

// Entries of the library beside ours and attempts.
const (
	assembled   = ours + "-Retrier"
	inSlots     = ours + "-Retrier-Slots"
	inSemaphore = ours + "-semaphore" // Retry in a semaphore by hand
	sized       = ours + "-Budget"
	fixed       = ours + "-Budget-fixed"
)

// What programs set for timedCall.
const (
	attemptTimeout = 2 * time.Second
	atOnce         = 20
)

// leaves are the policies of the library that wrap nothing, as entries of readyConstant. ExponentialBackOff
// is left out: it reads the clock in Reset, which takes longer than some whole loops; see ready.
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
		{name: timedCall, entries: append(
			entriesOf(func(p peer) retry { return p.perCall(ctx, timed(ctx, succeed)) }),
			entry{assembled, repeating(func() retry { return retrierCall(ctx, succeed, nil) })},
			entry{inSlots, repeating(func() retry { return retrierCall(ctx, succeed, backoff.NewSlots(atOnce)) })},
			entry{inSemaphore, repeating(func() retry { return semaphoreCall(ctx, timed(ctx, succeed)) })},
		)},
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
	all = append(all, task{name: nextDefault, entries: []entry{
		{ours, asking(func() policy { return backoff.NewExponentialBackOff() })},
		{cenkaltiV4, asking(func() policy { return cenkalti4.NewExponentialBackOff() })},
	}})
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
	return append(all, task{name: budgetSerial, entries: []entry{{ours, func(testing.TB) func(n int) {
		return func(n int) {
			for range n {
				budget.Withdraw()
				budget.Deposit()
			}
		}
	}}}})
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

// timed returns op with a timeout for each attempt, as programs write it by hand.
func timed(ctx context.Context, op func(ctx context.Context) error) func() error {
	return func() error {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return op(attempt)
	}
}

// retrierCall makes the same call by a Retrier, which makes a policy and a timeout for each.
func retrierCall(ctx context.Context, op func(ctx context.Context) error, slots *backoff.Slots) retry {
	r := backoff.Retrier{AttemptTimeout: attemptTimeout, Slots: slots, MaxRetries: maxRetries}
	return func() error { return r.Do(ctx, op) }
}

// semaphoreCall is oursPerCall with a bound on the calls in progress, written by hand.
func semaphoreCall(ctx context.Context, op func() error) retry {
	inProgress := make(chan struct{}, atOnce)
	return func() error {
		select {
		case inProgress <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-inProgress }()
		return backoff.Retry(op, oursPolicy(ctx))
	}
}

func succeed(context.Context) error { return nil }

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
