package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

// Retry a function that may fail for a moment. Here it does so twice.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	calls := 0
	ping := func(ctx context.Context) error { // passes ctx on
		calls++
		if calls < 3 {
			return errors.New("busy")
		}
		return ctx.Err()
	}

	exponential := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond), // without options, waits grow from about 0.5 s
	)
	policy := backoff.WithMaxRetries(exponential, 3)
	err := backoff.Retry(func() error {
		return ping(ctx)
	}, backoff.WithContext(policy, ctx))
	fmt.Println(calls, "attempts, error:", err)
	// Output:
	// 3 attempts, error: <nil>
}

// Retry calls a function until it succeeds, or the policy or the context ends the loop.
func ExampleRetry() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	calls := 0
	connect := func() error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}

	policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 5)
	err := backoff.Retry(connect, backoff.WithContext(policy, ctx))
	fmt.Println(calls, "calls, error:", err)
	// Output:
	// 3 calls, error: <nil>
}

// RetryWithData is for functions that also return a value.
func ExampleRetryWithData() {
	calls := 0
	count := func() (int, error) {
		calls++
		if calls < 3 {
			return 0, errors.New("busy")
		}
		return 42, nil
	}

	n, err := backoff.RetryWithData(count, backoff.NewConstantBackOff(time.Millisecond))
	fmt.Println(n, err)
	// Output:
	// 42 <nil>
}

// RetryNotify reports each wait, here to the terminal.
func ExampleRetryNotify() {
	calls := 0
	connect := func() error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	err := backoff.RetryNotify(connect, backoff.NewLinearBackOff(time.Millisecond), notify)
	fmt.Println("error:", err)
	// Output:
	// connection refused; next attempt in 1ms
	// connection refused; next attempt in 2ms
	// error: <nil>
}

// RetryNotifyWithData returns a value and reports each wait.
func ExampleRetryNotifyWithData() {
	calls := 0
	fetch := func() (string, error) {
		calls++
		if calls < 2 {
			return "", errors.New("busy")
		}
		return "hello", nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	text, err := backoff.RetryNotifyWithData(fetch, backoff.NewConstantBackOff(time.Millisecond), notify)
	fmt.Println(text, err)
	// Output:
	// busy; next attempt in 1ms
	// hello <nil>
}

// The body of the loop makes one attempt and sets err. A nil err ends the loop.
func ExampleAttempts() {
	calls := 0
	connect := func() error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}

	var err error
	for attempt := range backoff.Attempts(backoff.NewConstantBackOff(time.Millisecond), &err) {
		err = connect()
		fmt.Printf("attempt %d: %v\n", attempt, err)
	}
	fmt.Println("error:", err)
	// Output:
	// attempt 1: connection refused
	// attempt 2: connection refused
	// attempt 3: <nil>
	// error: <nil>
}

// In a function with named results the loop sets both. The body may return early.
func ExampleAttempts_value() {
	errNoUser := errors.New("no such user")
	fetchUser := func(attempt, id int) (name string, err error) {
		switch {
		case attempt < 3:
			return "", errors.New("busy")
		case id != 1:
			return "", errNoUser
		}
		return "gopher", nil
	}

	// userName returns the name of a user, or "guest" if the service knows none.
	userName := func(ctx context.Context, id int) (name string, err error) {
		policy := backoff.WithContext(backoff.NewConstantBackOff(time.Millisecond), ctx)
		for attempt := range backoff.Attempts(policy, &err) {
			name, err = fetchUser(attempt, id)
			if errors.Is(err, errNoUser) {
				return "guest", nil
			}
		}
		return name, err
	}
	fmt.Println(userName(context.Background(), 1))
	fmt.Println(userName(context.Background(), 2))
	// Output:
	// gopher <nil>
	// guest <nil>
}

// Each attempt sends only what the attempts before it could not.
func ExampleAttempts_rest() {
	// send accepts the first half of a batch, and returns the rest.
	send := func(batch []string) (rest []string) {
		return batch[(len(batch)+1)/2:]
	}

	rest := []string{"a", "b", "c", "d", "e"}
	var err error
	for attempt := range backoff.Attempts(backoff.NewConstantBackOff(time.Millisecond), &err) {
		fmt.Println("attempt", attempt, "sends", rest)
		rest = send(rest)
		err = nil
		if len(rest) > 0 {
			err = fmt.Errorf("%d items were not accepted", len(rest))
		}
	}
	fmt.Println("error:", err)
	// Output:
	// attempt 1 sends [a b c d e]
	// attempt 2 sends [d e]
	// attempt 3 sends [e]
	// error: <nil>
}

// This loop keeps a connection open for as long as the program runs. It never gives up.
func Example_reconnect() {
	keepConnected := func(ctx context.Context, connect func(context.Context) error) (err error) {
		policy := backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx)
		for range backoff.Attempts(policy, &err) {
			start := time.Now()
			err = connect(ctx) // returns an error when the connection ends; nil ends the loop
			if time.Since(start) > time.Minute {
				policy.Reset() // it was healthy: start over with the first wait
			}
		}
		return err
	}

	ctx, shutDown := context.WithCancel(context.Background())
	connect := func(context.Context) error {
		shutDown() // in a program, a signal does it
		return errors.New("connection reset")
	}
	fmt.Println(keepConnected(ctx, connect))
	// Output:
	// context canceled: connection reset
}

// A ticker delivers a tick for each attempt. Stop it on every way out.
func ExampleNewTicker() {
	calls := 0
	connect := func() error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}

	ticker := backoff.NewTicker(backoff.NewConstantBackOff(time.Millisecond))
	defer ticker.Stop()

	for range ticker.C {
		err := connect()
		fmt.Println("error:", err)
		if err == nil {
			break
		}
	}
	// Output:
	// error: connection refused
	// error: connection refused
	// error: <nil>
}

// Attempts and other work share a select loop. The ticker's channel is closed when the policy stops; a closed
// channel is always ready, so the loop sets its copy to nil, as it does after a success.
func ExampleTicker() {
	calls := 0
	connect := func() error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}
	jobs := make(chan string, 2)
	jobs <- "one"
	jobs <- "two"
	close(jobs)

	policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 5)
	ticker := backoff.NewTicker(policy)
	defer ticker.Stop()

	var err error
	done := 0
	ticks := ticker.C
	for ticks != nil || jobs != nil {
		select {
		case _, ok := <-ticks:
			if !ok {
				ticks = nil // no more attempts: err is the last one's
				break
			}
			err = connect()
			if err == nil {
				ticks = nil // no more are needed
			}
		case _, ok := <-jobs:
			if !ok {
				jobs = nil // no more jobs
				break
			}
			done++
		}
	}
	fmt.Println(calls, "attempts,", done, "jobs done, error:", err)
	// Output:
	// 3 attempts, 2 jobs done, error: <nil>
}

// In this select loop the wait starts when an attempt has ended. (A Ticker's starts when the attempt does.) To
// drive a policy by hand, call Reset first; a negative wait means to give up.
func Example_select() {
	jobs := make(chan string, 2)
	jobs <- "one"
	jobs <- "two"
	close(jobs)

	policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 2)
	policy.Reset()

	attempts, done := 0, 0
	next := time.After(0)
	for next != nil || jobs != nil {
		select {
		case <-next:
			attempts++ // and none succeeds
			next = nil
			wait := policy.NextBackOff()
			if wait >= 0 {
				next = time.After(wait)
			}
		case _, ok := <-jobs:
			if !ok {
				jobs = nil // no more jobs
				break
			}
			done++
		}
	}
	fmt.Println(attempts, "attempts,", done, "jobs done")
	// Output:
	// 3 attempts, 2 jobs done
}

// Three retries are four calls. The last error is returned unchanged.
func ExampleWithMaxRetries() {
	calls := 0
	fetch := func() error {
		calls++
		return errors.New("busy")
	}

	policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 3)
	err := backoff.Retry(fetch, policy)
	fmt.Println(calls, "calls:", err)
	// Output:
	// 4 calls: busy
}

// Once the context is done, there are no more calls. The error matches the context's error, its cause and the last
// error. Compare with errors.Is, not with ==.
func ExampleWithContext() {
	errShutdown := errors.New("shutting down")
	errRefused := errors.New("connection refused")

	ctx, cancel := context.WithCancelCause(context.Background())
	calls := 0
	connect := func() error {
		calls++
		if calls == 3 {
			cancel(errShutdown) // in a program, something else calls it
		}
		return errRefused
	}

	policy := backoff.WithContext(backoff.NewConstantBackOff(time.Millisecond), ctx)
	err := backoff.Retry(connect, policy)
	fmt.Println(calls, "calls:", err)
	fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, errShutdown), errors.Is(err, errRefused))
	// Output:
	// 3 calls: context canceled: shutting down: connection refused
	// true true true
}

// A wait that would outlast the context's deadline never starts, except the first one, unless a server asked for
// it. The context itself is not done then.
func ExampleWithContext_deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	policy := backoff.NewExponentialBackOff( // waits of 1 ms, 1 min, 1 min, …
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithMultiplier(60_000),
		backoff.WithJitter(backoff.NoJitter),
	)
	connect := func() error { return errors.New("connection refused") }

	err := backoff.Retry(connect, backoff.WithContext(policy, ctx))
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.DeadlineExceeded), ctx.Err())
	// Output:
	// context deadline exceeded: next attempt in 1m0s would be too late: connection refused
	// true <nil>
}

// Options set fields; the others keep their defaults.
func ExampleNewExponentialBackOff() {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(time.Second),
		backoff.WithMaxElapsedTime(time.Minute),
		backoff.WithRandomizationFactor(0), // leave this out where many clients retry
	)
	for range 6 {
		fmt.Println(policy.NextBackOff())
	}
	// Output:
	// 100ms
	// 200ms
	// 400ms
	// 800ms
	// 1s
	// 1s
}

// In a literal without a Clock, a field that is left out has its default. Two do not: a RandomizationFactor of
// zero is no jitter, and a MaxElapsedTime of zero is no limit.
func ExampleExponentialBackOff() {
	policy := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	for range 3 {
		fmt.Println(policy.NextBackOff())
	}
	// Output:
	// 1s
	// 1.5s
	// 2.25s
}

// FullJitter draws each wait from between zero and the interval.
func ExampleWithJitter() {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second),
		backoff.WithMultiplier(2),
		backoff.WithJitter(backoff.FullJitter),
	)
	for interval := time.Second; interval <= 8*time.Second; interval *= 2 {
		wait := policy.NextBackOff()
		fmt.Printf("between 0s and %v: %v\n", interval, 0 <= wait && wait <= interval)
	}
	// Output:
	// between 0s and 1s: true
	// between 0s and 2s: true
	// between 0s and 4s: true
	// between 0s and 8s: true
}

// The same seed gives the same waits.
func ExampleWithRand() {
	schedule := func(seed uint64) (waits []time.Duration) {
		policy := backoff.NewExponentialBackOff(
			backoff.WithJitter(backoff.FullJitter),
			backoff.WithRand(rand.New(rand.NewPCG(seed, 0))),
		)
		for range 10 {
			waits = append(waits, policy.NextBackOff())
		}
		return waits
	}

	fmt.Println(slices.Equal(schedule(1), schedule(1)))
	fmt.Println(slices.Equal(schedule(1), schedule(2)))
	// Output:
	// true
	// false
}

// Each wait is longer by one second, up to a cap.
func ExampleNewLinearBackOff() {
	policy := backoff.NewLinearBackOff(time.Second)
	policy.MaxInterval = 3 * time.Second
	for range 4 {
		fmt.Println(policy.NextBackOff())
	}
	// Output:
	// 1s
	// 2s
	// 3s
	// 3s
}

// All waits are the same.
func ExampleNewConstantBackOff() {
	policy := backoff.NewConstantBackOff(time.Second)
	for range 3 {
		fmt.Println(policy.NextBackOff())
	}
	// Output:
	// 1s
	// 1s
	// 1s
}

// ZeroBackOff retries immediately and forever, so it needs a limit.
func ExampleZeroBackOff() {
	calls := 0
	fetch := func() error {
		calls++
		return errors.New("busy")
	}

	policy := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 9)
	err := backoff.Retry(fetch, policy)
	fmt.Println(calls, "calls:", err)
	// Output:
	// 10 calls: busy
}

// StopBackOff turns retries off, for example by configuration.
func ExampleStopBackOff() {
	calls := 0
	fetch := func() error {
		calls++
		return errors.New("busy")
	}

	err := backoff.Retry(fetch, &backoff.StopBackOff{})
	fmt.Println(calls, "call:", err)
	// Output:
	// 1 call: busy
}

// An error that retrying cannot fix ends the loop immediately. It is returned without the mark.
func ExamplePermanent() {
	errNotFound := errors.New("no such user")
	calls := 0
	find := func() error {
		calls++
		return backoff.Permanent(errNotFound)
	}

	err := backoff.Retry(find, backoff.NewExponentialBackOff())
	fmt.Println(calls, "call:", err)
	fmt.Println(err == errNotFound)
	// Output:
	// 1 call: no such user
	// true
}

// A PermanentError without an Err matches every marked error. So code inside the operation can ask whether an
// error will end the loop. After the loop the mark is gone.
func ExamplePermanentError() {
	find := func() error {
		return backoff.Permanent(errors.New("no such user"))
	}
	permanent := func(err error) bool {
		return errors.Is(err, &backoff.PermanentError{})
	}

	err := backoff.Retry(func() error {
		err := find()
		fmt.Println("inside the loop:", permanent(err))
		return err
	}, backoff.NewExponentialBackOff())
	fmt.Println("after it:", permanent(err))
	// Output:
	// inside the loop: true
	// after it: false
}

// The error asks for a wait that is longer than the policy's own.
func ExampleRetryAfter() {
	calls := 0
	fetch := func() error {
		calls++
		if calls < 2 {
			return backoff.RetryAfter(errors.New("too many requests"), 5*time.Millisecond)
		}
		return nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	err := backoff.RetryNotify(fetch, backoff.NewConstantBackOff(time.Millisecond), notify)
	fmt.Println("error:", err)
	// Output:
	// too many requests (retry after 5ms); next attempt in 5ms
	// error: <nil>
}

// Call a service that may fail for a moment. Here it does so twice.
func Example_service() {
	mail := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          new(backoff.Slots),
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // without Policy, waits grow from about 0.5 s
		},
	}
	calls := 0
	send := func(ctx context.Context) error { // passes ctx on
		calls++
		if calls < 3 {
			return errors.New("busy")
		}
		return ctx.Err()
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	err := mail.Do(ctx, send)
	fmt.Println(calls, "attempts, error:", err)
	// Output:
	// 3 attempts, error: <nil>
}

// The error says why the call ended. Ask first whether the call was cancelled, then whether the limits ended it: the last
// error, which may be the timeout of an attempt, matches context.DeadlineExceeded too.
func ExampleRetrier_Do() {
	users := backoff.Retrier{ // in a program, a package variable
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // without Policy, waits grow from about 0.5 s
		},
	}
	outcome := func(err error) string {
		switch {
		case err == nil:
			return "done"
		case errors.Is(err, context.Canceled):
			return "canceled"
		case errors.Is(err, backoff.ErrNoSlot):
			return "nothing was sent"
		case errors.Is(err, backoff.ErrRetriesExhausted), errors.Is(err, backoff.ErrBudgetExhausted):
			return "failed again and again"
		case errors.Is(err, context.DeadlineExceeded):
			return "out of time"
		}
		return "will always fail"
	}

	minute, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()

	succeed := func(context.Context) error { return nil }
	hang := func(context.Context) error { return context.DeadlineExceeded } // the timeout of the attempt
	find := func(context.Context) error { return backoff.Permanent(errors.New("no such user")) }
	throttle := func(context.Context) error { return backoff.RetryAfter(errors.New("busy"), time.Minute) }

	fmt.Println(outcome(users.Do(minute, succeed)))
	fmt.Println(outcome(users.Do(minute, hang)))
	fmt.Println(outcome(users.Do(minute, find)))
	fmt.Println(outcome(users.Do(minute, throttle))) // the wait would end too late, so it never starts
	fmt.Println(outcome(users.Do(canceled, succeed)))
	// Output:
	// done
	// failed again and again
	// will always fail
	// out of time
	// canceled
}

// DoWithData returns the value of the last attempt.
func ExampleDoWithData() {
	rates := backoff.Retrier{ // in a program, a package variable
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // without Policy, waits grow from about 0.5 s
		},
	}
	calls := 0
	fetch := func(ctx context.Context, currency string) (float64, error) { // passes ctx on
		calls++
		if calls < 2 {
			return 0, errors.New("busy")
		}
		return 1.25, ctx.Err()
	}

	rate, err := backoff.DoWithData(context.Background(), &rates, func(ctx context.Context) (float64, error) {
		return fetch(ctx, "EUR")
	})
	fmt.Println(rate, err)
	// Output:
	// 1.25 <nil>
}

// A server asks for a wait that is longer than MaxRetryAfter, so the call ends. The error says how long the server
// asked to wait.
func ExampleRetryAfterError() {
	reports := backoff.Retrier{ // in a program, a package variable
		MaxRetryAfter: 5 * time.Minute, // the default is one minute
	}

	err := reports.Do(context.Background(), func(context.Context) error {
		return backoff.RetryAfter(errors.New("quota used up"), time.Hour)
	})
	fmt.Println("no retries left:", errors.Is(err, backoff.ErrRetriesExhausted))

	var later *backoff.RetryAfterError
	if errors.As(err, &later) {
		fmt.Println("ask again in", later.Duration)
	}
	// Output:
	// no retries left: true
	// ask again in 1h0m0s
}

// A program waits for its database, for two minutes at most. The number of retries is left to the policy.
func ExampleRetrier_startup() {
	database := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 5 * time.Second,
		MaxAttempts:    -1,
		Policy: func() backoff.BackOff {
			return backoff.NewExponentialBackOff(
				backoff.WithInitialInterval(time.Millisecond), // the default is 500 ms
				backoff.WithMaxInterval(5*time.Second),
				backoff.WithMaxElapsedTime(2*time.Minute),
			)
		},
	}
	attempts := 0
	ping := func(context.Context) error { // in a program, (*sql.DB).PingContext
		attempts++
		if attempts < 8 {
			return errors.New("the database system is starting up")
		}
		return nil
	}

	err := database.Do(context.Background(), ping)
	fmt.Println(attempts, "attempts, error:", err)
	// Output:
	// 8 attempts, error: <nil>
}

// A payment must not be sent twice. A copy of the Retrier makes one attempt, in the same slots.
func ExampleRetrier_once() {
	payments := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 10 * time.Second,
		Slots:          new(backoff.Slots),
	}
	once := payments
	once.MaxAttempts = 1

	calls := 0
	err := once.Do(context.Background(), func(context.Context) error {
		calls++
		fmt.Println("slots in use:", payments.Slots.InUse())
		return errors.New("connection reset")
	})
	fmt.Println(calls, "call:", err)
	// Output:
	// slots in use: 1
	// 1 call: connection reset
}

// A batch starts a goroutine for each item, and the slots limit how many calls are in progress. The first item
// that fails for good ends the batch.
func ExampleRetrier_batch() {
	storage := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 30 * time.Second,
		Slots:          backoff.NewSlots(3),
	}
	upload := func(_ context.Context, file string) error { // makes one attempt
		if file == "secret.txt" {
			return backoff.Permanent(errors.New("forbidden"))
		}
		return nil
	}

	uploadAll := func(ctx context.Context, files ...string) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)

		var uploads sync.WaitGroup
		for _, file := range files {
			uploads.Add(1)
			go func() {
				defer uploads.Done()
				err := storage.Do(ctx, func(ctx context.Context) error {
					return upload(ctx, file)
				})
				if err != nil {
					cancel(fmt.Errorf("upload %s: %w", file, err)) // only the first one counts
				}
			}()
		}
		uploads.Wait()
		return context.Cause(ctx)
	}

	fmt.Println(uploadAll(context.Background(), "a.txt", "b.txt", "c.txt", "d.txt", "e.txt"))
	fmt.Println(uploadAll(context.Background(), "a.txt", "secret.txt", "c.txt"))
	// Output:
	// <nil>
	// upload secret.txt: forbidden
}

// A queue consumer needs to know why a call failed. If no retries were left, the message may succeed later. An
// error that Permanent marked means that it never will. A message that the end of the program cuts off stays in
// the queue.
//
// A message that always fails for another reason comes back forever here. The consumer of docs/recipes.md counts
// failures while others get through, sets such a message aside, and pauses while the service is down.
func ExampleRetrier_consumer() {
	invoices := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 5 * time.Second,
		Slots:          new(backoff.Slots),
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Microsecond) // without Policy, waits grow from about 0.5 s
		},
	}
	send := func(_ context.Context, message string) error { // makes one attempt
		switch message {
		case "invoice 2":
			return errors.New("status 503")
		case "invoice 3":
			return backoff.Permanent(errors.New("status 422"))
		}
		return nil
	}

	ctx := context.Background() // in a program, it ends when the program does
	for _, message := range []string{"invoice 1", "invoice 2", "invoice 3", "invoice 4"} {
		err := invoices.Do(ctx, func(ctx context.Context) error {
			return send(ctx, message)
		})
		switch {
		case err == nil:
			fmt.Println(message, "is done")
		case ctx.Err() != nil:
			return // the message stays in the queue
		case errors.Is(err, backoff.ErrRetriesExhausted):
			fmt.Println(message, "is put back, for later:", err)
		default:
			fmt.Println(message, "is rejected, and needs a person:", err)
		}
	}
	// Output:
	// invoice 1 is done
	// invoice 2 is put back, for later: retries exhausted: status 503
	// invoice 3 is rejected, and needs a person: status 422
	// invoice 4 is done
}

// Notify logs each retry, with the number of the attempt that failed. Done logs the end of each call.
func ExampleRetrier_log() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // for the output only
			}
			return a
		},
	}))
	users := backoff.Retrier{ // in a program, a package variable
		MaxAttempts: 3,
		Policy: func() backoff.BackOff {
			return backoff.NewLinearBackOff(time.Millisecond) // without Policy, waits grow from about 0.5 s
		},
		Notify: func(ctx context.Context, attempt int, err error, wait time.Duration) {
			logger.InfoContext(ctx, "trying again", "attempt", attempt, "err", err, "wait", wait)
		},
		Done: func(ctx context.Context, attempts int, err error) {
			if err != nil {
				logger.ErrorContext(ctx, "call failed", "attempts", attempts, "err", err)
			}
		},
	}

	_ = users.Do(context.Background(), func(context.Context) error {
		return errors.New("busy")
	})
	// Output:
	// level=INFO msg="trying again" attempt=1 err=busy wait=1ms
	// level=INFO msg="trying again" attempt=2 err=busy wait=2ms
	// level=ERROR msg="call failed" attempts=3 err="retries exhausted: busy"
}

// The only slot is in use. A call waits for it, but only as long as its deadline leaves time for an attempt. Nothing
// was sent then, and a handler answers with a 503.
func ExampleSlots() {
	users := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          backoff.NewSlots(1),
	}
	status := func(err error) int {
		switch {
		case err == nil:
			return http.StatusOK
		case errors.Is(err, backoff.ErrNoSlot):
			return http.StatusServiceUnavailable
		}
		return http.StatusBadGateway
	}
	fetch := func(context.Context) error {
		fmt.Println("fetch")
		return nil
	}

	_ = users.Do(context.Background(), func(context.Context) error { // another call, which has the slot
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond) // in a handler, that of the request
		defer cancel()
		fmt.Println(status(users.Do(ctx, fetch)))
		return nil
	})
	fmt.Println(status(users.Do(context.Background(), fetch)))
	// Output:
	// 503
	// fetch
	// 200
}

// All calls to a service share its budget, and a fresh one pays for five retries. This service is down: ten calls at
// once make ten first attempts and five retries.
func ExampleBudget() {
	users := backoff.Retrier{ // in a program, a package variable
		Budget: new(backoff.Budget),
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // without Policy, waits grow from about 0.5 s
		},
	}

	var attempts, refused atomic.Int64
	var calls sync.WaitGroup
	for range 10 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			err := users.Do(context.Background(), func(context.Context) error {
				attempts.Add(1)
				return errors.New("service down")
			})
			if errors.Is(err, backoff.ErrBudgetExhausted) {
				refused.Add(1)
			}
		}()
	}
	calls.Wait()
	fmt.Println(attempts.Load(), "attempts") // without the budget, 40
	fmt.Println("a call was refused a retry:", refused.Load() > 0)
	// Output:
	// 15 attempts
	// a call was refused a retry: true
}

// A loop written by hand asks the budget before each retry, and tells it of each success. This one does not wait.
func ExampleBudget_Withdraw() {
	budget := &backoff.Budget{Capacity: 10}
	fetch := func() error { return errors.New("busy") }

	for attempt := 1; ; attempt++ {
		err := fetch()
		if err == nil {
			budget.Deposit()
			break
		}
		fmt.Printf("attempt %d: %v, %d tokens left\n", attempt, err, budget.Tokens())
		if !budget.Withdraw() {
			break
		}
	}
	// Output:
	// attempt 1: busy, 10 tokens left
	// attempt 2: busy, 5 tokens left
	// attempt 3: busy, 0 tokens left
}

// A success puts tokens back.
func ExampleBudget_Deposit() {
	budget := &backoff.Budget{Capacity: 10}
	budget.Withdraw()
	fmt.Println(budget.Tokens(), "tokens")

	budget.Deposit()
	fmt.Println(budget.Tokens(), "tokens")
	// Output:
	// 5 tokens
	// 6 tokens
}

// A Retry-After header holds a number of seconds or a date. A past date means no wait.
func ExampleParseRetryAfter() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{
		"120",
		"Sun, 01 Mar 2026 12:00:05 GMT",
		"Sun, 01 Mar 2026 11:00:00 GMT",
		"soon",
	} {
		wait, ok := backoff.ParseRetryAfter(value, now)
		fmt.Println(wait, ok)
	}
	// Output:
	// 2m0s true
	// 5s true
	// 0s true
	// 0s false
}

// An HTTP client of your own turns a response into an error that says whether to try again, and when. Package
// httpretry does it for a whole http.Client.
func ExampleRetryableStatus() {
	check := func(resp *http.Response) error {
		if resp.StatusCode < 300 {
			return nil
		}

		err := fmt.Errorf("unexpected status %d", resp.StatusCode)
		if !backoff.RetryableStatus(resp.StatusCode) {
			return backoff.Permanent(err)
		}
		wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
		return backoff.RetryAfter(err, wait) // without the header, err itself
	}

	fmt.Println(check(&http.Response{StatusCode: 200}))
	fmt.Println(check(&http.Response{StatusCode: 404}))
	fmt.Println(check(&http.Response{StatusCode: 503}))
	fmt.Println(check(&http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"5"}}}))
	// Output:
	// <nil>
	// unexpected status 404
	// unexpected status 503
	// unexpected status 429 (retry after 5s)
}
