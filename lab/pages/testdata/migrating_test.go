package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avast/retry-go/v5"
	v4 "github.com/cenkalti/backoff/v4"
	v5 "github.com/cenkalti/backoff/v5"
	v7 "github.com/cenkalti/backoff/v7"
	"github.com/hashicorp/go-retryablehttp"
	goretry "github.com/sethvargo/go-retry"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var (
	errBusy = errors.New("busy")
	errGone = errors.New("gone")
)

// A loop makes calls of op until it gives up, and calls notify before each wait, if it can.
type loop func(ctx context.Context, op func(context.Context) error, notify func()) error

// A pair is a loop of another library and the Retrier that the page names for it.
type pair struct {
	name  string
	there loop
	here  backoff.Retrier
	quiet bool // Notify is not called there, or also before a wait in which the context ends
	final bool // the error is one that must not be retried
	hangs bool // attempts hang
}

var pairs = []pair{
	{
		name: "v7",
		there: func(ctx context.Context, op func(context.Context) error, notify func()) error {
			_, err := v7.Retry(ctx, func() (string, error) { return "", op(ctx) },
				v7.WithBackOff(v7.NewConstantBackOff(time.Second)),
				v7.WithMaxTries(5),
				v7.WithNotify(func(error, time.Duration) { notify() }),
			)
			return err
		},
		here: backoff.Retrier{
			AttemptTimeout: -1,
			MaxAttempts:    5,
			Policy:         func() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) },
		},
	},
	{
		name: "v7, no WithMaxTries",
		there: func(ctx context.Context, op func(context.Context) error, notify func()) error {
			_, err := v7.Retry(ctx, func() (string, error) { return "", op(ctx) },
				v7.WithBackOff(v7.NewConstantBackOff(7*time.Minute)),
				v7.WithMaxElapsedTime(0),
			)
			return err
		},
		here: backoff.Retrier{
			AttemptTimeout: -1,
			MaxAttempts:    -1,
			Policy:         minutes,
		},
		quiet: true,
	},
	{name: "go-retry, retries", there: goRetry(3), here: backoff.Retrier{MaxAttempts: 4, Policy: doubled}, quiet: true},
	{name: "go-retry, no retries", there: goRetry(0), here: backoff.Retrier{MaxAttempts: 1, Policy: doubled}, quiet: true},
	{name: "go-retry, no WithMaxRetries", there: goRetry(-1), here: backoff.Retrier{MaxAttempts: -1, Policy: doubled}, quiet: true},
	{name: "retry-go, Attempts(0)", there: retryGoForever, here: backoff.Retrier{MaxAttempts: -1, Policy: minutes}, quiet: true},
	{name: "retry-go", there: retryGo, here: fetches, quiet: true},
	{name: "retry-go, RetryIf", there: retryGo, here: fetches, quiet: true, final: true},
	{
		name:  "retries",
		there: fromV4(v4.WithMaxRetries(exactV4(), 2)),
		here:  backoff.Retrier{MaxAttempts: 3, Policy: exact()},
	},
	{
		name:  "no retries",
		there: fromV4(v4.WithMaxRetries(exactV4(), 0)),
		here:  backoff.Retrier{MaxAttempts: 1, Policy: exact()},
	},
	{
		name:  "15 minutes",
		there: fromV4(exactV4()),
		here:  backoff.Retrier{MaxAttempts: -1, Policy: exact()},
	},
	{
		name:  "until the context ends",
		there: fromV4(exactV4(v4.WithMaxElapsedTime(0))),
		here:  backoff.Retrier{MaxAttempts: -1, Policy: exact(backoff.WithMaxElapsedTime(0))},
		quiet: true,
	},
	{
		name:  "a timeout in the operation",
		there: fromV4(v4.WithMaxRetries(exactV4(), 3)),
		here:  backoff.Retrier{AttemptTimeout: time.Second, Policy: exact()},
		hangs: true,
	},
	{
		name:  "a switch with Permanent",
		there: fromV4(exactV4()),
		here:  backoff.Retrier{Retryable: func(err error) bool { return !errors.Is(err, errGone) }},
		final: true,
	},
}

// goRetry returns a loop of go-retry of n retries, or without a limit if n is negative.
func goRetry(n int) loop {
	return func(ctx context.Context, op func(context.Context) error, _ func()) error {
		b := goretry.WithCappedDuration(time.Minute, goretry.NewExponential(time.Second))
		if n >= 0 {
			b = goretry.WithMaxRetries(uint64(n), b)
		}
		return goretry.Do(ctx, b, func(ctx context.Context) error { return goretry.RetryableError(op(ctx)) })
	}
}

// doubled has the waits of goRetry.
func doubled() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0),
		backoff.WithMaxElapsedTime(0),
	)
}

func seconds() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) }

// minutes has waits of which none ends after an hour, when the context does.
func minutes() backoff.BackOff { return backoff.NewConstantBackOff(7 * time.Minute) }

func retryGoForever(ctx context.Context, op func(context.Context) error, _ func()) error {
	return retry.New(
		retry.Context(ctx),
		retry.Attempts(0),
		retry.Delay(7*time.Minute),
		retry.DelayType(retry.FixedDelay),
		retry.LastErrorOnly(true),
	).Do(func() error { return op(ctx) })
}

func retryGo(ctx context.Context, op func(context.Context) error, _ func()) error {
	return retry.New(
		retry.Context(ctx),
		retry.Attempts(5),
		retry.Delay(200*time.Millisecond),
		retry.MaxDelay(time.Second),
		retry.DelayType(retry.BackOffDelay),
		retry.LastErrorOnly(true),
		retry.RetryIf(func(err error) bool { return !errors.Is(err, errGone) }),
	).Do(func() error { return op(ctx) })
}

// fetches has the options of retryGo.
var fetches = backoff.Retrier{
	AttemptTimeout: -1,
	MaxAttempts:    5,
	Policy: func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(200*time.Millisecond),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(time.Second),
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(0),
		)
	},
	Retryable: func(err error) bool { return !errors.Is(err, errGone) },
}

// fromV4 returns a loop of v4, whose operation ends attempts that hang after a second.
func fromV4(policy v4.BackOff) loop {
	return func(ctx context.Context, op func(context.Context) error, notify func()) error {
		return v4.RetryNotify(func() error {
			attempt, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err := op(attempt)
			if err == errGone {
				return v4.Permanent(err)
			}
			return err
		}, v4.WithContext(policy, ctx), func(error, time.Duration) { notify() })
	}
}

func exact(options ...backoff.ExponentialBackOffOpts) func() backoff.BackOff {
	options = append(options, backoff.WithRandomizationFactor(0))
	return func() backoff.BackOff { return backoff.NewExponentialBackOff(options...) }
}

func exactV4(options ...v4.ExponentialBackOffOpts) v4.BackOff {
	return v4.NewExponentialBackOff(append(options, v4.WithRandomizationFactor(0))...)
}

// Both make the same calls at the same times, end with an error that matches the last, and call Notify as often.
func TestPairs(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			calls, notified := p.record(t, p.there)
			callsHere, notifiedHere := p.record(t, func(ctx context.Context, op func(context.Context) error, notify func()) error {
				r := p.here
				r.Notify = func(context.Context, int, error, time.Duration) { notify() }
				return r.Do(ctx, op)
			})
			require.Equal(t, calls, callsHere)
			if !p.quiet {
				require.Equal(t, notified, notifiedHere)
			}
		})
	}
}

// record runs a loop whose operation always fails, for an hour at most. It returns the times of the calls, and how often
// Notify was called.
func (p pair) record(t *testing.T, run loop) (calls []time.Duration, notified int) {
	failure := errBusy
	if p.final {
		failure = errGone
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		err := run(ctx, func(ctx context.Context) error {
			calls = append(calls, time.Since(start))
			if p.hangs {
				<-ctx.Done()
			}
			return failure
		}, func() { notified++ })
		if ctx.Err() == nil {
			require.ErrorIs(t, err, failure)
		}
		require.Error(t, err)
	})
	return calls, notified
}

// A library is one that the import line names.
type library struct {
	retry     func(op backoff.Operation, b backoff.BackOff, notify backoff.Notify) error
	permanent func(error) error
}

var (
	there = library{
		retry: func(op backoff.Operation, b backoff.BackOff, notify backoff.Notify) error {
			return v4.RetryNotify(v4.Operation(op), b, v4.Notify(notify))
		},
		permanent: v4.Permanent,
	}
	here = library{backoff.RetryNotify, backoff.Permanent}
)

// A change is one of the page's table: what the code does there and here, and what the changed code does here.
type change struct {
	row   string // of the table
	code  func(ctx context.Context, l library) string
	there string
	here  string
	after func(ctx context.Context, l library) string // nil if nothing is to do
}

// The context of each ends after 3.5 s, by its deadline.
var changes = []change{
	{
		row:   "`err == context.Canceled`",
		there: "is DeadlineExceeded: true",
		here:  "is DeadlineExceeded: false",
		code: func(ctx context.Context, l library) string {
			return fmt.Sprintf("is DeadlineExceeded: %v", loopUntil(ctx, l) == context.DeadlineExceeded)
		},
		after: func(ctx context.Context, l library) string {
			return fmt.Sprintf("is DeadlineExceeded: %v", errors.Is(loopUntil(ctx, l), context.DeadlineExceeded))
		},
	},
	{
		row:   "`ctx.Err() != nil` after a loop",
		there: "out of time",
		here:  "failed",
		code: func(ctx context.Context, l library) string {
			_ = loopUntil(ctx, l)
			if ctx.Err() != nil {
				return "out of time"
			}
			return "failed"
		},
		after: func(ctx context.Context, l library) string {
			err := loopUntil(ctx, l)
			if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
				return "out of time"
			}
			return "failed"
		},
	},
	{
		row:   "**A classifier of the loop's error**",
		there: "returned",
		here:  "queued",
		code: func(ctx context.Context, l library) string {
			if errors.Is(loopUntil(ctx, l), errBusy) {
				return "queued"
			}
			return "returned"
		},
		after: func(ctx context.Context, l library) string {
			err := loopUntil(ctx, l)
			switch {
			case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
				return "returned"
			case errors.Is(err, errBusy):
				return "queued"
			}
			return "returned"
		},
	},
	{
		row:   "The last error, added",
		there: "busy once",
		here:  "busy twice",
		code: func(ctx context.Context, l library) string {
			err := fmt.Errorf("%w: %w", loopUntil(ctx, l), errBusy)
			if strings.Count(err.Error(), "busy") == 2 {
				return "busy twice"
			}
			return "busy once"
		},
		after: func(ctx context.Context, l library) string {
			if strings.Count(loopUntil(ctx, l).Error(), "busy") == 1 {
				return "busy once"
			}
			return "busy twice"
		},
	},
	{
		row:   "A notify that keeps the last error",
		there: "failure 3",
		here:  "failure 2",
		code: func(ctx context.Context, l library) string {
			var last error
			_ = l.retry(numbered(), backoff.WithContext(doubled(), ctx), func(err error, _ time.Duration) { last = err })
			return last.Error()
		},
		after: func(ctx context.Context, l library) string {
			var last error
			op := numbered()
			_ = l.retry(func() error {
				last = op()
				return last
			}, backoff.WithContext(doubled(), ctx), nil)
			return last.Error()
		},
	},
	{
		row:   "`Permanent(Permanent(err))`",
		there: "1 calls",
		here:  "3 calls",
		code: func(ctx context.Context, l library) string {
			calls := 0
			_ = l.retry(func() error {
				return l.retry(func() error {
					calls++
					return l.permanent(l.permanent(errGone))
				}, seconds(), nil)
			}, backoff.WithMaxRetries(seconds(), 2), nil)
			return fmt.Sprintf("%d calls", calls)
		},
		after: func(ctx context.Context, l library) string {
			calls := 0
			_ = l.retry(func() error {
				err := l.retry(func() error {
					calls++
					return l.permanent(errGone)
				}, seconds(), nil)
				return l.permanent(err)
			}, backoff.WithMaxRetries(seconds(), 2), nil)
			return fmt.Sprintf("%d calls", calls)
		},
	},
	{
		row:   "A readiness check that should try until its deadline",
		there: "ended after 3.5s",
		here:  "ended after 3s",
		code: func(ctx context.Context, l library) string {
			start := time.Now()
			_ = loopUntil(ctx, l)
			return fmt.Sprintf("ended after %v", time.Since(start))
		},
		after: func(ctx context.Context, l library) string {
			start := time.Now()
			b := doubled().(*backoff.ExponentialBackOff)
			b.MaxInterval = time.Second / 2
			_ = l.retry(func() error { return errBusy }, backoff.WithContext(b, ctx), nil)
			if took := time.Since(start); took >= 3*time.Second {
				return "ended after 3.5s" // less half a second at most
			}
			return "ended too early"
		},
	},
}

// loopUntil runs a loop whose third wait outlasts the context's deadline.
func loopUntil(ctx context.Context, l library) error {
	return l.retry(func() error { return errBusy }, backoff.WithContext(doubled(), ctx), nil)
}

// numbered returns an operation whose failures have a number.
func numbered() backoff.Operation {
	n := 0
	return func() error {
		n++
		return fmt.Errorf("failure %d", n)
	}
}

// Code that the page's table names does something else here, and what it did there once it is changed.
func TestChanges(t *testing.T) {
	page, err := os.ReadFile("page.md")
	require.NoError(t, err)
	for _, c := range changes {
		require.Contains(t, string(page), "\n| "+c.row)
		run := func(code func(context.Context, library) string, l library) (result string) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				result = code(ctx, l)
			})
			return result
		}
		require.Equal(t, c.there, run(c.code, there), c.row)
		require.Equal(t, c.here, run(c.code, here), c.row)
		if c.after != nil {
			require.Equal(t, c.there, run(c.after, here), c.row)
		}
	}
}

// Steps by hand are the same, but for a field that is set without Reset, and a policy that is made long before.
func TestStepsByHand(t *testing.T) {
	steps := func(b backoff.BackOff) (waits []time.Duration) {
		for range 5 {
			waits = append(waits, b.NextBackOff())
		}
		return waits
	}
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, steps(exactV4()), steps(exact()()))

		late := exactV4(v4.WithMaxElapsedTime(time.Minute))
		lateHere := exact(backoff.WithMaxElapsedTime(time.Minute))()
		time.Sleep(time.Hour)
		require.Equal(t, v4.Stop, late.NextBackOff())
		require.Equal(t, 500*time.Millisecond, lateHere.NextBackOff())

		set := exactV4().(*v4.ExponentialBackOff)
		set.InitialInterval = time.Second
		require.Equal(t, 500*time.Millisecond, set.NextBackOff())
		setHere := exact()().(*backoff.ExponentialBackOff)
		setHere.InitialInterval = time.Second
		require.Equal(t, time.Second, setHere.NextBackOff())
	})
}

// Without a timeout, op gets the context of Do, which lives on when op has returned.
func TestNoTimeout(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, true)
	got, err := backoff.DoWithData(ctx, &unlimited, func(ctx context.Context) (context.Context, error) { return ctx, nil })
	require.NoError(t, err)
	require.True(t, got == ctx)
}

// The Retrier without limits goes on after 15 minutes, and beyond four attempts of 30 s.
func TestUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		attempts := 0
		err := unlimited.Do(t.Context(), func(ctx context.Context) error {
			attempts++
			time.Sleep(time.Minute)
			if time.Since(start) < time.Hour {
				return errBusy
			}
			return ctx.Err()
		})
		require.NoError(t, err)
		require.Greater(t, attempts, 4)
	})
}

// The error of a call without retries left is wrapped, and found by errors.As.
func TestErrorIsWrapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r backoff.Retrier
		err := r.Do(t.Context(), func(context.Context) error { return &net.OpError{Op: "dial", Err: errGone} })
		_, bare := err.(*net.OpError)
		require.False(t, bare)
		var found *net.OpError
		require.ErrorAs(t, err, &found)
		require.EqualError(t, err, "retries exhausted: dial: gone")
	})
}

// What other versions mark is not seen. Their last error comes back as it is in v5, and wrapped here.
func TestForeignMarks(t *testing.T) {
	for _, mark := range []func(error) error{v4.Permanent, v5.Permanent, v7.Permanent} {
		synctest.Test(t, func(t *testing.T) {
			r := backoff.Retrier{MaxAttempts: 6}
			calls := 0
			err := r.Do(t.Context(), func(context.Context) error {
				calls++
				return mark(errGone)
			})
			require.Equal(t, 6, calls)
			require.EqualError(t, err, "retries exhausted: gone")
			require.ErrorIs(t, err, errGone)
		})
	}

	calls := 0
	_, err := v5.Retry(t.Context(), func() (int, error) {
		calls++
		return 0, v5.Permanent(errGone)
	})
	require.Equal(t, 1, calls)
	require.Equal(t, errGone, err)

	_, err = v5.Retry(t.Context(), func() (int, error) { return 0, errBusy }, v5.WithMaxTries(1))
	require.Equal(t, errBusy, err)
}

// A server answers requests in virtual time.
type server struct {
	start  time.Time
	calls  []time.Duration
	bodies []string
	answer func(n int) *http.Response // the n-th call's, from 1
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.calls = append(s.calls, time.Since(s.start))
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(body))
	}
	resp := s.answer(len(s.calls))
	resp.Request = req
	return resp, nil
}

// status returns a function that answers with a code and a header.
func status(code int, header ...string) func(int) *http.Response {
	return func(int) *http.Response {
		resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("answer"))}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp
	}
}

// thenOK answers n calls as before, and the next with status 200.
func thenOK(n int, before func(int) *http.Response) func(int) *http.Response {
	return func(call int) *http.Response {
		if call > n {
			return status(http.StatusOK)(call)
		}
		return before(call)
	}
}

// secondsLeft writes the wait of another header into Retry-After.
type secondsLeft struct{ http.RoundTripper }

func (s secondsLeft) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Header.Set("Retry-After", resp.Header.Get("Seconds-Left"))
	}
	return resp, err
}

// An httpPair is a client of go-retryablehttp and the Transport that the page names for it.
type httpPair struct {
	name   string
	method string
	answer func(int) *http.Response
	there  func(c *retryablehttp.Client)
	here   func(t *httpretry.Transport)
	calls  int // of both
}

var httpPairs = []httpPair{
	{
		name:   "RetryMax by default",
		method: http.MethodGet,
		answer: status(http.StatusServiceUnavailable),
		here:   func(t *httpretry.Transport) { t.MaxAttempts = 5 },
		calls:  5,
	},
	{
		name:   "RetryMax: 0",
		method: http.MethodGet,
		answer: status(http.StatusServiceUnavailable),
		there:  func(c *retryablehttp.Client) { c.RetryMax = 0 },
		here:   func(t *httpretry.Transport) { t.MaxAttempts = 0 + 1 },
		calls:  1,
	},
	{
		name:   "any method",
		method: http.MethodPost,
		answer: thenOK(2, status(http.StatusServiceUnavailable)),
		here:   func(t *httpretry.Transport) { t.Idempotent = func(*http.Request) bool { return true } },
		calls:  3,
	},
	{
		name:   "Retry-After, however long",
		method: http.MethodGet,
		answer: thenOK(1, status(http.StatusTooManyRequests, "Retry-After", "3600")),
		here: func(t *httpretry.Transport) {
			t.MaxRetryAfter = -1
			t.Policy = func() backoff.BackOff { return &backoff.ZeroBackOff{} }
		},
		calls: 2,
	},
	{
		name:   "a Backoff that reads another header",
		method: http.MethodGet,
		answer: thenOK(1, status(http.StatusTooManyRequests, "Seconds-Left", "7")),
		there: func(c *retryablehttp.Client) {
			c.Backoff = func(_, _ time.Duration, _ int, resp *http.Response) time.Duration {
				wait, _ := strconv.Atoi(resp.Header.Get("Seconds-Left"))
				return time.Duration(wait) * time.Second
			}
		},
		here: func(t *httpretry.Transport) {
			t.Base = secondsLeft{t.Base}
			t.Policy = func() backoff.BackOff { return &backoff.ZeroBackOff{} }
		},
		calls: 2,
	},
	{
		name:   "CheckRetry",
		method: http.MethodGet,
		answer: thenOK(2, status(http.StatusConflict)),
		there: func(c *retryablehttp.Client) {
			c.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
				return err == nil && resp.StatusCode == http.StatusConflict, ctx.Err()
			}
		},
		here: func(t *httpretry.Transport) {
			t.Retryable = func(_ *http.Request, resp *http.Response, err error) bool {
				return err == nil && resp.StatusCode == http.StatusConflict
			}
		},
		calls: 3,
	},
}

// Both send the same requests at the same times, with their bodies, and return the same status.
func TestHTTPPairs(t *testing.T) {
	for _, p := range httpPairs {
		synctest.Test(t, func(t *testing.T) {
			there := &server{start: time.Now(), answer: p.answer}
			client := retryablehttp.NewClient()
			client.HTTPClient = &http.Client{Transport: there}
			client.ErrorHandler = retryablehttp.PassthroughErrorHandler
			client.Logger = nil
			if p.there != nil {
				p.there(client)
			}
			old, err := retryablehttp.NewRequestWithContext(t.Context(), p.method, "http://service/", []byte("body"))
			require.NoError(t, err)
			want, err := client.Do(old)
			require.NoError(t, err)
			require.NoError(t, want.Body.Close())

			here := &server{start: time.Now(), answer: p.answer}
			transport := &httpretry.Transport{
				AttemptTimeout: -1,
				Policy: func() backoff.BackOff {
					return backoff.NewExponentialBackOff(
						backoff.WithInitialInterval(time.Second),
						backoff.WithMultiplier(2),
						backoff.WithMaxInterval(30*time.Second),
						backoff.WithRandomizationFactor(0),
					)
				},
				Base: here,
			}
			p.here(transport)
			req, err := http.NewRequestWithContext(t.Context(), p.method, "http://service/", bytes.NewReader([]byte("body")))
			require.NoError(t, err)
			got, err := (&http.Client{Transport: transport}).Do(req)
			require.NoError(t, err)
			require.NoError(t, got.Body.Close())

			require.Equal(t, want.StatusCode, got.StatusCode, p.name)
			require.Len(t, there.calls, p.calls, p.name)
			require.Equal(t, there.calls, here.calls, p.name)
			require.Equal(t, there.bodies, here.bodies, p.name)
		})
	}
}

// A strict transport returns an error where the retries have not helped, as go-retryablehttp does, and closes the body.
func TestStrict(t *testing.T) {
	for code, fails := range map[int]bool{200: false, 404: false, 501: false, 429: true, 503: true} {
		synctest.Test(t, func(t *testing.T) {
			closed := 0
			inner := &httpretry.Transport{Base: answering(func(*http.Request) (*http.Response, error) {
				body := struct {
					io.Reader
					closing
				}{strings.NewReader("body"), func() { closed++ }}
				return &http.Response{StatusCode: code, Status: strconv.Itoa(code), Header: http.Header{}, Body: body}, nil
			})}
			resp, err := (&http.Client{Transport: strict{inner}}).Get("http://service/")
			require.Equal(t, fails, err != nil, code)
			if fails {
				require.ErrorContains(t, err, strconv.Itoa(code))
				require.Equal(t, 4, closed)
				return
			}
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 1, closed)
		})
	}
}

type answering func(req *http.Request) (*http.Response, error)

func (f answering) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type closing func()

func (c closing) Close() error {
	c()
	return nil
}

// About a POST without a key, Retryable is asked only if the server has done nothing with it.
func TestAskedAboutPost(t *testing.T) {
	for code, want := range map[int]bool{0: true, 200: false, 401: true, 407: true, 409: false, 429: true, 500: false, 503: false} {
		asked := false
		client := &http.Client{Transport: &httpretry.Transport{
			Retryable: func(*http.Request, *http.Response, error) bool {
				asked = true
				return false
			},
			Base: answering(func(*http.Request) (*http.Response, error) {
				if code == 0 {
					return nil, &net.OpError{Op: "dial", Err: errBusy}
				}
				return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}, nil
			}),
		}}
		resp, err := client.Post("http://service/", "", nil)
		require.Equal(t, code == 0, err != nil)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		require.Equal(t, want, asked, code)
	}
}
