package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

// Retry a call with growing waits, for ten seconds at most.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	calls := 0
	fetch := func() (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("busy")
		}
		return "hello", nil
	}

	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond), // the default is 500 ms
	)
	answer, err := backoff.RetryWithData(fetch, backoff.WithContext(policy, ctx))
	fmt.Println(answer, err, "after", calls, "calls")
	// Output:
	// hello <nil> after 3 calls
}

// A call without a value. The service fails twice.
func ExampleRetrier_Do() {
	mail := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          backoff.NewSlots(20), // calls in progress, in this process
		MaxRetries:     3,
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // the default waits for about 0.5 s first
		},
	}
	calls := 0
	send := func(ctx context.Context) error { // passes ctx on
		if calls++; calls < 3 {
			return errors.New("busy")
		}
		return ctx.Err()
	}

	err := mail.Do(context.Background(), send)
	fmt.Println(calls, "attempts, error:", err)
	// Output:
	// 3 attempts, error: <nil>
}

// DoWithData returns the value of the last attempt.
func ExampleDoWithData() {
	rates := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          backoff.NewSlots(20), // calls in progress, in this process
		MaxRetries:     3,
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // the default waits for about 0.5 s first
		},
	}
	calls := 0
	fetch := func(ctx context.Context, currency string) (float64, error) { // passes ctx on
		if calls++; calls < 2 {
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

// A batch starts a goroutine for each item, and the slots limit how many calls are in progress. The first item
// that fails for good ends the batch.
func ExampleRetrier_batch() {
	storage := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 30 * time.Second,
		Slots:          backoff.NewSlots(3),
		MaxRetries:     5,
		Policy: func() backoff.BackOff {
			return backoff.NewConstantBackOff(time.Millisecond) // the default waits for about 0.5 s first
		},
	}
	upload := func(_ context.Context, file string) error {
		if file == "secret.txt" {
			return backoff.Permanent(errors.New("forbidden"))
		}
		return nil
	}

	uploadAll := func(ctx context.Context, files []string) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)

		var uploads sync.WaitGroup
		for _, file := range files {
			uploads.Add(1)
			go func() {
				defer uploads.Done()
				err := storage.Do(ctx, func(ctx context.Context) error { return upload(ctx, file) })
				if err != nil {
					cancel(fmt.Errorf("upload %s: %w", file, err)) // only the first one counts
				}
			}()
		}
		uploads.Wait()
		return context.Cause(ctx)
	}
	fmt.Println(uploadAll(context.Background(), []string{"a.txt", "b.txt", "c.txt", "d.txt", "e.txt"}))
	fmt.Println(uploadAll(context.Background(), []string{"a.txt", "secret.txt", "c.txt"}))
	// Output:
	// <nil>
	// upload secret.txt: forbidden
}

// A queue consumer has no deadline: its messages can wait until the service is back. A message that fails again
// and again goes to the dead letters, so that it does not hold its slot forever. One that the end of the program
// cuts off stays in the queue.
func ExampleRetrier_consumer() {
	invoices := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 5 * time.Second,
		Slots:          backoff.NewSlots(4),
		MaxRetries:     10,
		Policy: func() backoff.BackOff {
			return backoff.NewExponentialBackOff(
				backoff.WithInitialInterval(100*time.Microsecond), // the default is 500 ms
				backoff.WithMaxElapsedTime(0),                     // no limit of time
			)
		},
	}
	attempts := 0
	handle := func(_ context.Context, message string) error {
		attempts++
		if message == "poison" {
			return errors.New("out of range")
		}
		return nil
	}

	consume := func(ctx context.Context, messages <-chan string) error {
		for message := range messages {
			err := invoices.Do(ctx, func(ctx context.Context) error { return handle(ctx, message) })
			switch {
			case err == nil:
				fmt.Println("done:", message)
			case ctx.Err() != nil:
				return err // without an acknowledgment
			default:
				fmt.Println("dead letter:", message, "after", attempts, "attempts:", err)
			}
			attempts = 0 // acknowledge the message here
		}
		return nil
	}

	messages := make(chan string, 3)
	messages <- "one"
	messages <- "poison"
	messages <- "two"
	close(messages)
	fmt.Println("error:", consume(context.Background(), messages))
	// Output:
	// done: one
	// dead letter: poison after 11 attempts: out of range
	// done: two
	// error: <nil>
}

// A payment must not be sent twice. A copy of the Retrier makes one attempt, in the same slots.
func ExampleRetrier_once() {
	payments := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 10 * time.Second,
		Slots:          backoff.NewSlots(5),
	}
	once := payments
	once.MaxRetries = -1

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

// Notify logs each retry, with the number of the attempt that failed. Done logs the end of each call.
func ExampleRetrier_notify() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // for the output only
			}
			return a
		},
	}))
	users := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          backoff.NewSlots(20),
		MaxRetries:     2,
		Policy: func() backoff.BackOff {
			return backoff.NewLinearBackOff(time.Millisecond) // the default waits for about 0.5 s first
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

	_ = users.Do(context.Background(), func(context.Context) error { return errors.New("busy") })
	// Output:
	// level=INFO msg="trying again" attempt=1 err=busy wait=1ms
	// level=INFO msg="trying again" attempt=2 err=busy wait=2ms
	// level=ERROR msg="call failed" attempts=3 err=busy
}

// The only slot is in use, and the deadline leaves no time to wait for it and then make an attempt of 2 s. So
// the call ends immediately, and a handler answers with a 503.
func ExampleSlots() {
	users := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          backoff.NewSlots(1),
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()

	fetch := func(context.Context) error { return nil }
	status := func(err error) int {
		switch {
		case err == nil:
			return http.StatusOK
		case errors.Is(err, backoff.ErrNoSlot):
			return http.StatusServiceUnavailable // it was not called
		}
		return http.StatusBadGateway
	}

	fmt.Println(status(users.Do(ctx, fetch)))

	err := users.Slots.Acquire(ctx, users.AttemptTimeout) // as another call does
	if err != nil {
		return
	}
	defer users.Slots.Release()
	fmt.Println(status(users.Do(ctx, fetch)))
	// Output:
	// 200
	// 503
}

// A download is read after the request, so it holds its slot by itself. It is not repeated.
func ExampleSlots_Acquire() {
	slots := backoff.NewSlots(20) // in a program, those of the Retrier for the same service

	download := func(ctx context.Context) error {
		err := slots.Acquire(ctx, 5*time.Second)
		if err != nil {
			return err
		}
		defer slots.Release()

		fmt.Println("slots in use:", slots.InUse())
		return nil
	}
	fmt.Println("error:", download(context.Background()))
	fmt.Println("slots in use:", slots.InUse())
	// Output:
	// slots in use: 1
	// error: <nil>
	// slots in use: 0
}

// A policy holds the state of one loop. So a program without a Retrier makes a new one, with all its limits, for
// each call. All calls share the budget.
func Example_calls() {
	var users backoff.Budget // for all calls to the service of users
	newPolicy := func(ctx context.Context) backoff.BackOff {
		policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
		policy = backoff.WithBudget(policy, &users)
		return backoff.WithContext(policy, ctx)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, id := range []int{1, 2} {
		name, err := backoff.RetryWithData(func() (string, error) {
			if id != 1 {
				return "", backoff.Permanent(errors.New("no such user"))
			}
			return "gopher", nil
		}, newPolicy(ctx))
		fmt.Printf("%q %v\n", name, err)
	}
	// Output:
	// "gopher" <nil>
	// "" no such user
}

// Retry calls a function until it succeeds.
func ExampleRetry() {
	calls := 0
	connect := func() error {
		if calls++; calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}

	policy := backoff.NewConstantBackOff(time.Millisecond)
	err := backoff.Retry(connect, policy)
	fmt.Println(calls, "calls, error:", err)
	// Output:
	// 3 calls, error: <nil>
}

// RetryWithData is for functions that also return a value.
func ExampleRetryWithData() {
	calls := 0
	count := func() (int, error) {
		if calls++; calls < 3 {
			return 0, errors.New("busy")
		}
		return 42, nil
	}

	policy := backoff.NewConstantBackOff(time.Millisecond)
	n, err := backoff.RetryWithData(count, policy)
	fmt.Println(n, err)
	// Output:
	// 42 <nil>
}

// RetryNotify reports each wait, here to the terminal.
func ExampleRetryNotify() {
	calls := 0
	connect := func() error {
		if calls++; calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	policy := backoff.NewLinearBackOff(time.Millisecond)
	err := backoff.RetryNotify(connect, policy, notify)
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
		if calls++; calls < 2 {
			return "", errors.New("busy")
		}
		return "hello", nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	policy := backoff.NewConstantBackOff(time.Millisecond)
	text, err := backoff.RetryNotifyWithData(fetch, policy, notify)
	fmt.Println(text, err)
	// Output:
	// busy; next attempt in 1ms
	// hello <nil>
}

// The body of the loop makes one attempt and sets err. A nil err ends the loop.
func ExampleAttempts() {
	calls := 0
	connect := func() error {
		if calls++; calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}

	policy := backoff.NewConstantBackOff(time.Millisecond)
	var err error
	for attempt := range backoff.Attempts(policy, &err) {
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
func ExampleAttempts_batch() {
	// send accepts the first half of a batch, and returns the rest.
	send := func(batch []string) (rest []string) {
		return batch[(len(batch)+1)/2:]
	}

	rest := []string{"a", "b", "c", "d", "e"}
	policy := backoff.NewConstantBackOff(time.Millisecond)
	var err error
	for attempt := range backoff.Attempts(policy, &err) {
		fmt.Println("attempt", attempt, "sends", rest)
		if rest = send(rest); len(rest) > 0 {
			err = fmt.Errorf("%d items were not accepted", len(rest))
		} else {
			err = nil
		}
	}
	fmt.Println("error:", err)
	// Output:
	// attempt 1 sends [a b c d e]
	// attempt 2 sends [d e]
	// attempt 3 sends [e]
	// error: <nil>
}

// A ticker delivers a tick for each attempt. Stop it on every way out.
func ExampleNewTicker() {
	calls := 0
	connect := func() error {
		if calls++; calls < 3 {
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

// Attempts and other work share a select loop. The ticker's channel is closed when the policy
// stops; a closed channel is always ready, so the loop sets it to nil, as it does after a success.
func ExampleTicker() {
	calls := 0
	connect := func() error {
		if calls++; calls < 3 {
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
			if err = connect(); err == nil {
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

// Stop closes the channel, here during a wait. To call it again does no harm.
func ExampleTicker_Stop() {
	ticker := backoff.NewTicker(backoff.NewConstantBackOff(time.Hour))
	defer ticker.Stop()

	_, ok := <-ticker.C // the first tick comes immediately
	fmt.Println(ok)

	ticker.Stop()
	_, ok = <-ticker.C
	fmt.Println(ok)
	// Output:
	// true
	// false
}

// In this select loop the wait starts when an attempt has ended. (A Ticker's starts when the
// attempt does.) To drive a policy by hand, call Reset first; a negative wait means to give up.
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
			if wait := policy.NextBackOff(); wait >= 0 {
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

// A PermanentError without an Err matches every marked error. So code inside the operation can ask
// whether an error will end the loop. After the loop the mark is gone.
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
		if calls++; calls < 2 {
			return backoff.RetryAfter(errors.New("too many requests"), 5*time.Millisecond)
		}
		return nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	policy := backoff.NewConstantBackOff(time.Millisecond)
	err := backoff.RetryNotify(fetch, policy, notify)
	fmt.Println("error:", err)
	// Output:
	// too many requests (retry after 5ms); next attempt in 5ms
	// error: <nil>
}

// An HTTP client retries errors that may pass. It waits for as long as the header Retry-After says, unless
// that is too long.
func ExampleRetryAfter_http() {
	const longest = time.Minute

	fetchPage := func(ctx context.Context, client *http.Client, url string) (string, error) {
		fetch := func() (string, error) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // for this attempt
			defer cancel()

			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return "", backoff.Permanent(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()

			if resp.StatusCode < 300 {
				body, err := io.ReadAll(resp.Body)
				return string(body), err
			}

			err = fmt.Errorf("unexpected status %s", resp.Status)
			wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
			if !backoff.RetryableStatus(resp.StatusCode) || wait > longest {
				return "", backoff.Permanent(err)
			}
			return "", backoff.RetryAfter(err, wait) // a wait of zero has no effect
		}

		policy := backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(time.Millisecond), // the default is 500 ms
			backoff.WithRandomizationFactor(0),            // for the output only
		)
		notify := func(err error, wait time.Duration) {
			fmt.Printf("%v; next attempt in %v\n", err, wait)
		}
		limited := backoff.WithMaxRetries(policy, 3)
		return backoff.RetryNotifyWithData(fetch, backoff.WithContext(limited, ctx), notify)
	}

	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch calls++; calls {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1") // in seconds
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer server.Close()

	fmt.Println(fetchPage(context.Background(), server.Client(), server.URL))
	// Output:
	// unexpected status 503 Service Unavailable; next attempt in 1ms
	// unexpected status 429 Too Many Requests (retry after 1s); next attempt in 1s
	// hello <nil>
}

// A loop does not wait for longer than its limit, here the default of 15 minutes. The error says how
// long the server asked to wait.
func ExampleRetryAfterError() {
	fetch := func() error {
		return backoff.RetryAfter(errors.New("too many requests"), time.Hour)
	}

	err := backoff.Retry(fetch, backoff.NewExponentialBackOff())
	var later *backoff.RetryAfterError
	if errors.As(err, &later) {
		fmt.Println("ask again in", later.Duration)
	}
	// Output:
	// ask again in 1h0m0s
}

// Once the context is done, there are no more calls.
func ExampleWithContext() {
	ctx, shutDown := context.WithCancel(context.Background())
	calls := 0
	connect := func() error {
		if calls++; calls == 3 {
			shutDown() // in a real program, something else calls it
		}
		return errors.New("connection refused")
	}

	policy := backoff.WithContext(backoff.NewConstantBackOff(time.Millisecond), ctx)
	err := backoff.Retry(connect, policy)
	fmt.Println(calls, "calls:", err)
	// Output:
	// 3 calls: context canceled: connection refused
}

// The error of a loop that its context ended matches the context's error, its cause and the
// operation's last error. Compare with errors.Is, not with ==.
func ExampleWithContext_error() {
	errShutdown := errors.New("shutting down")
	errRefused := errors.New("connection refused")

	ctx, cancel := context.WithCancelCause(context.Background())
	connect := func() error {
		cancel(errShutdown)
		return errRefused
	}

	policy := backoff.WithContext(backoff.NewExponentialBackOff(), ctx)
	err := backoff.Retry(connect, policy)
	fmt.Println(err)
	fmt.Println(errors.Is(err, context.Canceled))
	fmt.Println(errors.Is(err, errShutdown))
	fmt.Println(errors.Is(err, errRefused))
	// Output:
	// context canceled: shutting down: connection refused
	// true
	// true
	// true
}

// A wait that would outlast the context's deadline is refused, except the first one, unless a server
// asked for it. The context itself is not done then.
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

// Check the returned error, not ctx.Err(): after a refused wait the context has not ended. The limits
// come first, because an attempt's own timeout matches context.DeadlineExceeded too.
func Example_outcome() {
	errGivenUp := errors.New("given up")
	outcome := func(err error) string {
		switch {
		case errors.Is(err, errGivenUp), errors.Is(err, backoff.ErrBudgetExhausted):
			return "given up"
		case errors.Is(err, context.Canceled):
			return "shutdown"
		case errors.Is(err, context.DeadlineExceeded):
			return "out of time"
		}
		return fmt.Sprint(err) // the operation's error, or nil
	}
	policy := func(ctx context.Context) backoff.BackOff {
		b := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2)
		return backoff.WithContext(backoff.WithStopCause(b, errGivenUp), ctx)
	}
	background := context.Background()
	canceled, cancel := context.WithCancel(background)
	cancel()
	minute, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()

	succeed := func() error { return nil }
	find := func() error { return backoff.Permanent(errors.New("not found")) }
	timeOut := func() error { return context.DeadlineExceeded } // of one attempt
	later := func() error { return backoff.RetryAfter(errors.New("busy"), time.Hour) }
	fmt.Println(outcome(backoff.Retry(succeed, policy(background))))
	fmt.Println(outcome(backoff.Retry(find, policy(background))))
	fmt.Println(outcome(backoff.Retry(timeOut, policy(background))))
	fmt.Println(outcome(backoff.Retry(later, policy(canceled))))
	fmt.Println(outcome(backoff.Retry(later, policy(minute))), minute.Err())
	// Output:
	// <nil>
	// not found
	// given up
	// shutdown
	// out of time <nil>
}

// This loop keeps a connection open for as long as the program runs. It never gives up. It has no budget:
// a connection that lasts is no success that could pay for the retries of others.
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
	defer shutDown()
	attempts := 0
	connect := func(context.Context) error {
		if attempts++; attempts == 2 {
			shutDown() // in a real program, a signal does it
		}
		return errors.New("connection refused")
	}
	fmt.Println(keepConnected(ctx, connect))
	fmt.Println(attempts, "attempts")
	// Output:
	// context canceled: connection refused
	// 2 attempts
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

// Retry only while the service is throttling. Any other error is returned immediately, unchanged.
func ExampleWithRetryIf() {
	errThrottled := errors.New("throttled")
	calls := 0
	fetch := func() error {
		if calls++; calls < 3 {
			return fmt.Errorf("call %d: %w", calls, errThrottled)
		}
		return fmt.Errorf("call %d: forbidden", calls)
	}
	throttled := func(err error) bool { return errors.Is(err, errThrottled) }

	policy := backoff.WithRetryIf(backoff.NewConstantBackOff(time.Millisecond), throttled)
	err := backoff.Retry(fetch, policy)
	fmt.Println(err)
	// Output:
	// call 3: forbidden
}

// Two limits, each with a cause of its own: the error says which of them ended the loop.
func ExampleWithStopCause() {
	errTime := errors.New("out of time")
	errTries := errors.New("out of tries")
	connect := func() error { return errors.New("connection refused") }

	for _, maxRetries := range []uint64{1, 5} {
		var policy backoff.BackOff
		policy = backoff.NewExponentialBackOff( // waits of 1 ms, 1 min, 1 min, …
			backoff.WithInitialInterval(time.Millisecond),
			backoff.WithMultiplier(60_000),
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(30*time.Second),
		)
		policy = backoff.WithStopCause(policy, errTime)
		policy = backoff.WithMaxRetries(policy, maxRetries)
		policy = backoff.WithStopCause(policy, errTries)

		err := backoff.Retry(connect, policy)
		fmt.Println(err)
		fmt.Println(errors.Is(err, errTime), errors.Is(err, errTries))
	}
	// Output:
	// out of tries: connection refused
	// false true
	// out of time: connection refused
	// true false
}

// A loop written by hand asks the budget before each retry. This one does not wait.
func ExampleBudget() {
	budget := &backoff.Budget{Capacity: 10, RetryCost: 5}
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

// A fixed pool of workers limits itself: while the service is unavailable each of them has at most one
// call. So it needs no budget. A job that cannot be done does not stop its worker, and one that the end of
// the program cuts off is put back.
func ExampleRetry_workers() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var calls atomic.Int64
	do := func(_ context.Context, job int) error { // fails 20 times, and job 13 always
		switch {
		case job == 13:
			return backoff.Permanent(errors.New("unlucky"))
		case calls.Add(1) <= 20:
			return errors.New("unavailable")
		}
		return nil
	}

	jobs := make(chan int, 100)
	for job := range cap(jobs) {
		jobs <- job
	}
	var done, failed atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			var job int
			select {
			case job = <-jobs:
			default:
				return // there are no more
			}
			policy := backoff.NewExponentialBackOff(
				backoff.WithInitialInterval(time.Millisecond), // the default is 500 ms
				backoff.WithMaxElapsedTime(0),                 // only ctx ends it
			)
			err := backoff.Retry(func() error { return do(ctx, job) }, backoff.WithContext(policy, ctx))
			switch {
			case err == nil:
				done.Add(1)
			case ctx.Err() != nil:
				jobs <- job // for the next time
			default:
				failed.Add(1)
			}
		}
	}
	var workers sync.WaitGroup
	for range 5 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			work()
		}()
	}
	workers.Wait()
	fmt.Println(done.Load(), "jobs done,", failed.Load(), "failed,", calls.Load(), "calls")
	// Output:
	// 99 jobs done, 1 failed, 119 calls
}

// All loops that call one service share one budget. This service is down. Each loop makes its first
// call, and the budget pays for four retries in all.
func ExampleWithBudget() {
	budget := &backoff.Budget{Capacity: 20, RetryCost: 5}

	var calls atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 10)
			_ = backoff.Retry(func() error {
				calls.Add(1)
				return errors.New("service down")
			}, backoff.WithBudget(policy, budget))
		}()
	}
	wg.Wait()
	fmt.Println("10 operations,", calls.Load(), "calls") // without the budget, 110
	// Output:
	// 10 operations, 14 calls
}

// The error of a loop whose budget could not pay matches ErrBudgetExhausted and the last error.
func ExampleWithBudget_exhausted() {
	errBusy := errors.New("busy")
	fetch := func() error { return errBusy }

	budget := &backoff.Budget{Capacity: 10, RetryCost: 5} // enough for two retries
	policy := backoff.WithBudget(backoff.NewConstantBackOff(time.Millisecond), budget)
	err := backoff.Retry(fetch, policy)
	fmt.Println(err)
	fmt.Println(errors.Is(err, backoff.ErrBudgetExhausted), errors.Is(err, errBusy))
	// Output:
	// retry budget exhausted: busy
	// true true
}

// A loop around Retry must wait by itself: once the budget is exhausted, Retry makes one call and returns
// immediately. Here it waits by a policy without a budget that never stops.
func ExampleWithBudget_outerLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	budget := &backoff.Budget{Capacity: 5} // pays for one retry

	calls := 0
	fetch := func() error { // the service is back at the fifth call
		if calls++; calls < 5 {
			return errors.New("service down")
		}
		return nil
	}

	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),      // never stop
		backoff.WithRandomizationFactor(0), // for the output only
	)
	for {
		policy := backoff.WithBudget(backoff.NewConstantBackOff(time.Millisecond), budget)
		err := backoff.Retry(fetch, backoff.WithContext(policy, ctx))
		if err == nil {
			break
		}
		wait := pause.NextBackOff()
		fmt.Printf("%v; next round in %v\n", err, wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
	fmt.Println("done after", calls, "calls")
	// Output:
	// retry budget exhausted: service down; next round in 1ms
	// retry budget exhausted: service down; next round in 2ms
	// retry budget exhausted: service down; next round in 4ms
	// done after 5 calls
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

// In a literal without a Clock, a field that is left out has its default. Two do not: a
// RandomizationFactor of zero is no jitter, and a MaxElapsedTime of zero is no limit.
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

// Google Cloud's documentation asks for waits of 1 s, 2 s, 4 s and so on, each with up to 1 s added
// at random, and a maximum of 32 s or 64 s.
func ExampleJitter_google() {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(32*time.Second),
		backoff.WithJitter(backoff.AdditiveJitter),
	)
	for range 5 {
		wait := policy.NextBackOff()
		fmt.Println(wait.Truncate(time.Second), "and a fraction of a second")
	}
	// Output:
	// 1s and a fraction of a second
	// 2s and a fraction of a second
	// 4s and a fraction of a second
	// 8s and a fraction of a second
	// 16s and a fraction of a second
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

// 503 Service Unavailable is worth another attempt. 404 Not Found is not.
func ExampleRetryableStatus() {
	fmt.Println(503, backoff.RetryableStatus(503))
	fmt.Println(404, backoff.RetryableStatus(404))
	// Output:
	// 503 true
	// 404 false
}
