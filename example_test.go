package backoff

import (
	"context"
	"errors"
	"fmt"
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
