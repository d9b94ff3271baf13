package backoff

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// unreliable returns an operation that fails twice and then succeeds.
func unreliable() Operation {
	calls := 0
	return func() error {
		if calls++; calls < 3 {
			return fmt.Errorf("call %d: connection refused", calls)
		}
		fmt.Printf("call %d: done\n", calls)
		return nil
	}
}

// quick returns a policy whose waits are the same on every run: 1 ms, 2 ms, 4 ms and so on.
func quick() *ExponentialBackOff {
	return NewExponentialBackOff(
		WithInitialInterval(time.Millisecond),
		WithMultiplier(2),
		WithRandomizationFactor(0),
	)
}

// Retry an operation with growing waits, for as long as the request that it belongs to lives.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	operation := unreliable()

	err := Retry(operation, WithContext(quick(), ctx))
	fmt.Println("error:", err)
	// Output:
	// call 3: done
	// error: <nil>
}

func ExampleRetry() {
	operation := unreliable()
	if err := Retry(operation, quick()); err != nil {
		fmt.Println("gave up:", err)
	}
	// Output:
	// call 3: done
}

func ExampleRetryWithData() {
	calls := 0
	answer, err := RetryWithData(func() (int, error) {
		if calls++; calls < 3 {
			return 0, errors.New("busy")
		}
		return 42, nil
	}, quick())
	fmt.Println(answer, err)
	// Output:
	// 42 <nil>
}

func ExampleRetryNotify() {
	operation := unreliable()
	err := RetryNotify(operation, quick(), func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	})
	fmt.Println("error:", err)
	// Output:
	// call 1: connection refused; next attempt in 1ms
	// call 2: connection refused; next attempt in 2ms
	// call 3: done
	// error: <nil>
}

func ExampleRetryNotifyWithData() {
	calls := 0
	fetch := func() (string, error) {
		if calls++; calls < 2 {
			return "", errors.New("busy")
		}
		return "hello", nil
	}
	text, err := RetryNotifyWithData(fetch, quick(), func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	})
	fmt.Println(text, err)
	// Output:
	// busy; next attempt in 1ms
	// hello <nil>
}

// noWait is a Timer for tests: it notes each wait, and ends it at once.
type noWait struct{ c chan time.Time }

func (n *noWait) Start(d time.Duration) {
	fmt.Println("wait", d)
	n.c = make(chan time.Time, 1)
	n.c <- time.Now()
}

func (n *noWait) Stop() {}

func (n *noWait) C() <-chan time.Time { return n.c }

func ExampleRetryNotifyWithTimer() {
	hourly := NewConstantBackOff(time.Hour)
	err := RetryNotifyWithTimer(unreliable(), hourly, nil, new(noWait))
	fmt.Println("error:", err)
	// Output:
	// wait 1h0m0s
	// wait 1h0m0s
	// call 3: done
	// error: <nil>
}

func ExampleRetryNotifyWithTimerAndData() {
	hourly := NewConstantBackOff(time.Hour)
	calls := 0
	count, err := RetryNotifyWithTimerAndData(func() (int, error) {
		if calls++; calls < 2 {
			return calls, errors.New("busy")
		}
		return calls, nil
	}, hourly, nil, new(noWait))
	fmt.Println(count, err)
	// Output:
	// wait 1h0m0s
	// 2 <nil>
}

// Attempts and other work share one select loop. When the policy stops, the channel is closed: set
// it to nil, or it is ready for ever.
func ExampleNewTicker() {
	jobs := make(chan string, 1)
	jobs <- "some other work"

	ticker := NewTicker(WithMaxRetries(NewConstantBackOff(10*time.Millisecond), 2))
	defer ticker.Stop()

	attempt := 0
	ticks := ticker.C
	for ticks != nil || jobs != nil {
		select {
		case _, ok := <-ticks:
			if !ok {
				fmt.Println("no more attempts")
				ticks = nil
				break
			}
			attempt++
			if attempt > 1 {
				fmt.Println("attempt", attempt, "failed")
			}
		case job := <-jobs:
			fmt.Println(job)
			jobs = nil
		}
	}
	// Unordered output:
	// some other work
	// attempt 2 failed
	// attempt 3 failed
	// no more attempts
}

func ExampleNewTickerWithTimer() {
	hourly := WithMaxRetries(NewConstantBackOff(time.Hour), 1)
	ticker := NewTickerWithTimer(hourly, new(noWait))
	for range ticker.C {
		fmt.Println("attempt")
	}
	// Unordered output:
	// attempt
	// wait 1h0m0s
	// attempt
}

// A ticker is stopped as soon as an attempt has succeeded.
func ExampleTicker_Stop() {
	operation := unreliable()
	ticker := NewTicker(quick())
	for range ticker.C {
		if err := operation(); err != nil {
			fmt.Println(err)
			continue
		}
		ticker.Stop()
	}
	// Output:
	// call 1: connection refused
	// call 2: connection refused
	// call 3: done
}

func ExamplePermanent() {
	errNotFound := errors.New("no such user")
	calls := 0
	err := Retry(func() error {
		calls++
		return Permanent(errNotFound) // asking again will not help
	}, NewExponentialBackOff())
	fmt.Println(calls, err, err == errNotFound)
	// Output:
	// 1 no such user true
}

// The error tells why the loop ended, and what the operation said last.
func ExampleWithContext() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	errBusy := errors.New("busy")
	policy := WithContext(NewConstantBackOff(time.Hour), ctx)
	err := Retry(func() error { return errBusy }, policy)

	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.Is(err, errBusy))
	// Output:
	// context deadline exceeded (next attempt in 1h0m0s would be too late): busy
	// true true
}

func ExampleWithMaxRetries() {
	calls := 0
	err := Retry(func() error {
		calls++
		return errors.New("busy")
	}, WithMaxRetries(quick(), 3))
	fmt.Println(calls, "calls:", err)
	// Output:
	// 4 calls: busy
}

func ExampleNewExponentialBackOff() {
	b := NewExponentialBackOff(
		WithInitialInterval(100*time.Millisecond),
		WithMultiplier(2),
		WithMaxInterval(time.Second),
		WithRandomizationFactor(0), // leave this line out in production
	)
	for range 6 {
		fmt.Print(b.NextBackOff(), " ")
	}
	// Output:
	// 100ms 200ms 400ms 800ms 1s 1s
}

// Fields may be left out: they have their defaults.
func ExampleExponentialBackOff() {
	b := &ExponentialBackOff{InitialInterval: time.Second}
	fmt.Println(b.NextBackOff(), b.NextBackOff(), b.NextBackOff())
	// Output:
	// 1s 1.5s 2.25s
}

func ExampleNewConstantBackOff() {
	b := NewConstantBackOff(time.Second)
	fmt.Println(b.NextBackOff(), b.NextBackOff())
	// Output:
	// 1s 1s
}

func ExampleZeroBackOff() {
	err := Retry(unreliable(), WithMaxRetries(&ZeroBackOff{}, 5))
	fmt.Println("error:", err)
	// Output:
	// call 3: done
	// error: <nil>
}

func ExampleStopBackOff() {
	err := Retry(unreliable(), &StopBackOff{})
	fmt.Println("error:", err)
	// Output:
	// error: call 1: connection refused
}

func ExampleNewLinearBackOff() {
	b := NewLinearBackOff(time.Second)
	b.MaxInterval = 3 * time.Second
	fmt.Println(b.NextBackOff(), b.NextBackOff(), b.NextBackOff(), b.NextBackOff())
	// Output:
	// 1s 2s 3s 3s
}

func ExampleAttempts() {
	operation := unreliable()
	var err error
	for attempt := range Attempts(WithMaxRetries(quick(), 5)) {
		if err = operation(); err == nil {
			break
		}
		fmt.Printf("attempt %d failed: %v\n", attempt, err)
	}
	fmt.Println("error:", err)
	// Output:
	// attempt 1 failed: call 1: connection refused
	// attempt 2 failed: call 2: connection refused
	// call 3: done
	// error: <nil>
}

// With a seed of its own, a policy gives the same schedule on every run.
func ExampleWithRand() {
	schedule := func() (waits []time.Duration) {
		b := NewExponentialBackOff(WithJitter(FullJitter), WithRand(rand.New(rand.NewPCG(1, 2))))
		for range 3 {
			waits = append(waits, b.NextBackOff())
		}
		return waits
	}
	fmt.Println(slices.Equal(schedule(), schedule()))
	// Output:
	// true
}

func ExampleWithJitter() {
	b := NewExponentialBackOff(WithInitialInterval(time.Second), WithJitter(EqualJitter))
	wait := b.NextBackOff()
	fmt.Println(b.Jitter, wait >= time.Second/2, wait <= time.Second)
	// Output:
	// EqualJitter true true
}

// Google Cloud's documentation asks for waits of 1 s, 2 s, 4 s and so on, each with up to 1 s added
// at random, up to a maximum_backoff of 32 s or 64 s. Here, five retries are made.
func ExampleJitter_google() {
	b := WithMaxRetries(NewExponentialBackOff(
		WithInitialInterval(time.Second),
		WithMultiplier(2),
		WithMaxInterval(32*time.Second),
		WithJitter(AdditiveJitter),
	), 5)
	for wait := b.NextBackOff(); wait != Stop; wait = b.NextBackOff() {
		fmt.Println(wait.Truncate(time.Second), "and a part of a second")
	}
	fmt.Println("give up")
	// Output:
	// 1s and a part of a second
	// 2s and a part of a second
	// 4s and a part of a second
	// 8s and a part of a second
	// 16s and a part of a second
	// give up
}

// Retry while the error says that the service is throttling, after 1 s at first, then twice as long
// each time, up to 10 s. (The timer prints the waits instead of waiting.)
func ExampleWithRetryIf() {
	errThrottled, errForbidden := errors.New("throttled"), errors.New("forbidden")
	calls := 0
	operation := func() error {
		if calls++; calls < 7 {
			return errThrottled
		}
		return errForbidden
	}

	b := NewExponentialBackOff(
		WithInitialInterval(time.Second),
		WithMultiplier(2),
		WithMaxInterval(10*time.Second),
		WithJitter(NoJitter),
	)
	throttled := func(err error) bool { return errors.Is(err, errThrottled) }

	err := RetryNotifyWithTimer(operation, WithRetryIf(b, throttled), nil, new(noWait))
	fmt.Println("error:", err)
	// Output:
	// wait 1s
	// wait 2s
	// wait 4s
	// wait 8s
	// wait 10s
	// wait 10s
	// error: forbidden
}

// A server that knows how long it will be busy is given that time.
func ExampleRetryAfter() {
	calls := 0
	err := RetryNotifyWithTimer(func() error {
		if calls++; calls == 1 {
			return RetryAfter(errors.New("429 Too Many Requests"), 30*time.Second)
		}
		return nil
	}, quick(), func(err error, wait time.Duration) {
		fmt.Println(err)
	}, new(noWait))
	fmt.Println("error:", err)
	// Output:
	// 429 Too Many Requests (retry after 30s)
	// wait 30s
	// error: <nil>
}

func ExampleParseRetryAfter() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"120", "Sun, 01 Mar 2026 12:00:05 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", "soon"} {
		fmt.Println(ParseRetryAfter(value, now))
	}
	// Output:
	// 2m0s true
	// 5s true
	// 0s true
	// 0s false
}

func ExampleRetryableStatus() {
	fmt.Println(RetryableStatus(503), RetryableStatus(404))
	// Output:
	// true false
}

// All loops that call one service share one budget. When the service is down, each of them makes
// its one call, and the retries stop.
func ExampleWithBudget() {
	budget := &Budget{Capacity: 20, RetryCost: 5}
	calls := 0
	for range 10 {
		_ = Retry(func() error {
			calls++
			return errors.New("service down")
		}, WithBudget(WithMaxRetries(quick(), 3), budget))
	}
	fmt.Println("10 operations,", calls, "calls") // 14 of them, not 40
	// Output:
	// 10 operations, 14 calls
}

// A loop that knows itself how its attempts end takes part in a budget by hand.
func ExampleBudget() {
	budget := &Budget{Capacity: 10}
	operation := unreliable()
	for range Attempts(NewConstantBackOff(time.Millisecond)) {
		if err := operation(); err == nil {
			budget.Deposit()
			break
		}
		if !budget.Withdraw() {
			break
		}
	}
	fmt.Println(budget.Tokens(), "tokens left")
	// Output:
	// call 3: done
	// 5 tokens left
}

var errThrottled = errors.New("throttled")

// adaptive is a policy that keeps what it has learned from one loop to the next: being throttled
// doubles its interval, and each success takes a quarter off it.
type adaptive struct{ interval time.Duration }

func (a *adaptive) Reset() {}

func (a *adaptive) NextBackOff() time.Duration { return a.interval }

func (a *adaptive) Observe(err error) {
	switch {
	case err == nil:
		a.interval -= a.interval / 4
	case errors.Is(err, errThrottled):
		a.interval *= 2
	}
}

// A policy that implements BackOffObserver can adapt to what the service can bear.
func ExampleBackOffObserver() {
	policy := &adaptive{interval: time.Second}
	for _, throttled := range []int{3, 0, 0, 1} {
		_ = RetryNotifyWithTimer(func() error {
			if throttled--; throttled >= 0 {
				return errThrottled
			}
			return nil
		}, WithMaxRetries(policy, 5), nil, new(noWait))
	}
	fmt.Println("interval", policy.interval)
	// Output:
	// wait 2s
	// wait 4s
	// wait 8s
	// wait 6.75s
	// interval 5.0625s
}

// doubling is a decorator: it makes the waits of another policy twice as long. Unwrap lets the
// loops see what is below it, such as the context in this example.
type doubling struct{ BackOff }

func (d doubling) NextBackOff() time.Duration { return 2 * d.BackOff.NextBackOff() }

func (d doubling) Unwrap() BackOff { return d.BackOff }

func ExampleBackOff() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	err := Retry(unreliable(), doubling{WithContext(quick(), ctx)})
	fmt.Println(err)
	// Output:
	// context canceled: call 1: connection refused
}
