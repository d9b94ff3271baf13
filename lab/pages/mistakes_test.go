package pages_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// What docs/mistakes.md says of a Retrier that each call makes for itself.
func TestMistakeRetrierForEachCall(t *testing.T) {
	atOnce := func(call func(ctx context.Context, op func(context.Context) error) error) (started int) {
		synctest.Test(t, func(t *testing.T) {
			var inProgress atomic.Int64
			var group sync.WaitGroup
			for range 30 {
				group.Go(func() {
					_ = call(t.Context(), func(context.Context) error {
						inProgress.Add(1)
						time.Sleep(time.Second)
						return nil
					})
				})
			}
			synctest.Wait()
			started = int(inProgress.Load())
			group.Wait()
		})
		return started
	}

	require.Equal(t, 30, atOnce(func(ctx context.Context, op func(context.Context) error) error {
		calls := backoff.Retrier{AttemptTimeout: 2 * time.Second, Slots: backoff.NewSlots(20)}
		return calls.Do(ctx, op)
	}))
	calls := backoff.Retrier{AttemptTimeout: 2 * time.Second, Slots: backoff.NewSlots(20)}
	require.Equal(t, 20, atOnce(calls.Do))
}

// A call inside another needs a second slot, and the attempts multiply.
func TestMistakeNestedDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := backoff.Retrier{AttemptTimeout: 5 * time.Second, Slots: backoff.NewSlots(2)}
		attempts := 0
		nested := func(context.Context) error { attempts++; return errBusy }
		op := func(ctx context.Context) error { return calls.Do(ctx, nested) }

		require.ErrorIs(t, calls.Do(t.Context(), op), errBusy)
		require.Equal(t, 16, attempts)

		calls.Slots = backoff.NewSlots(1)
		attempts = 0
		require.ErrorIs(t, calls.Do(t.Context(), op), backoff.ErrNoSlot)
		require.Zero(t, attempts)
	})
}

// A call that starts sets those back that share its policy. (Here it starts in Notify, so that the two do not
// race.)
func TestMistakeSharedPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := backoff.NewLinearBackOff(time.Second)
		var waits []time.Duration
		calls := backoff.Retrier{Policy: func() backoff.BackOff { return backoff.WithMaxRetries(shared, 3) }}
		other := calls
		calls.Notify = func(ctx context.Context, attempt int, _ error, wait time.Duration) {
			waits = append(waits, wait)
			if attempt == 2 {
				require.NoError(t, other.Do(ctx, func(context.Context) error { return nil }))
			}
		}
		require.ErrorIs(t, calls.Do(t.Context(), func(context.Context) error { return errBusy }), errBusy)
		require.Equal(t, []time.Duration{1 * time.Second, 2 * time.Second, 1 * time.Second}, waits)
	})
}

// The body of a response ends with the operation.
func TestMistakeBodyAfterDo(t *testing.T) {
	large := bytes.Repeat([]byte("page"), 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) }))
	defer server.Close()
	get := func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return nil, err
		}
		return http.DefaultClient.Do(req)
	}
	pages := backoff.Retrier{AttemptTimeout: 5 * time.Second}

	resp, err := backoff.DoWithData(t.Context(), &pages, get)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.EqualError(t, err, "context canceled")

	body, err := backoff.DoWithData(t.Context(), &pages, func(ctx context.Context) ([]byte, error) {
		resp, err := get(ctx)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	})
	require.NoError(t, err)
	require.Equal(t, large, body)
}

// A mark that is returned from the body of Attempts stays, and ends the caller's loop too.
func TestMistakeReturnedMark(t *testing.T) {
	returned := func() (err error) {
		for range backoff.Attempts(&backoff.ZeroBackOff{}, &err) {
			return backoff.Permanent(errBusy)
		}
		return err
	}
	assigned := func() (err error) {
		for range backoff.Attempts(&backoff.ZeroBackOff{}, &err) {
			err = backoff.Permanent(errBusy)
		}
		return err
	}
	attempts := func(op func() error) (n int) {
		_ = backoff.Retry(func() error { n++; return op() }, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3))
		return n
	}
	require.ErrorIs(t, returned(), &backoff.PermanentError{})
	require.Equal(t, 1, attempts(returned))
	require.Same(t, errBusy, assigned())
	require.Equal(t, 4, attempts(assigned))
}

// What is deferred in the body of Attempts runs when the function returns.
func TestMistakeDeferInBody(t *testing.T) {
	var alive []int
	open := 0
	_ = func() (err error) {
		for range backoff.Attempts(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2), &err) {
			open++
			defer func() { open-- }()
			alive = append(alive, open)
			err = errBusy
		}
		return err
	}()
	require.Equal(t, []int{1, 2, 3}, alive)
	require.Zero(t, open)
}

// In the body of Attempts err is never nil before the attempt.
func TestMistakeJoinedErr(t *testing.T) {
	store := func(save func() error) (err error) {
		for range backoff.Attempts(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3), &err) {
			err = errors.Join(err, save())
		}
		return err
	}
	calls := 0
	err := store(func() error { calls++; return nil })
	require.ErrorContains(t, err, "backoff: the body of a range over Attempts has not set err")
	require.Equal(t, 4, calls)

	kept := func(save func() error) (err error) {
		var failures error
		for range backoff.Attempts(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3), &err) {
			err = save()
			failures = errors.Join(failures, err)
		}
		if err != nil {
			return failures
		}
		return nil
	}
	require.EqualError(t, kept(fail), "busy\nbusy\nbusy\nbusy")
	require.NoError(t, kept(func() error { return nil }))
}

// A mark around nil is nil, which is a success.
func TestMistakeMarkedNil(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	require.NoError(t, backoff.Retry(func() error {
		resp, err := http.Get(server.URL)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		require.Equal(t, http.StatusNotFound, resp.StatusCode)
		return backoff.Permanent(err)
	}, &backoff.StopBackOff{}))
	require.NoError(t, backoff.Retry(func() error { return backoff.RetryAfter(nil, time.Hour) }, &backoff.StopBackOff{}))
}

// A literal has neither jitter nor a limit of time.
func TestMistakeLiteral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		literal := &backoff.ExponentialBackOff{InitialInterval: time.Second}
		require.Equal(t, time.Second, literal.NextBackOff())
		require.Equal(t, 1500*time.Millisecond, literal.NextBackOff())
		time.Sleep(24 * time.Hour)
		require.Positive(t, literal.NextBackOff())
	})
}

// A context that has ended does not end a loop without it, and a wait of -1 is none.
func TestMistakeNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter)), 3)
		require.ErrorIs(t, backoff.Retry(ctx.Err, policy), context.Canceled)
		require.Equal(t, 2375*time.Millisecond, time.Since(start))

		byHand := backoff.NewExponentialBackOff()
		byHand.Reset()
		time.Sleep(16 * time.Minute)
		start = time.Now()
		time.Sleep(byHand.NextBackOff())
		require.Equal(t, start, time.Now())
	})
}

// A budget that is made for each call never refuses any of three retries.
func TestMistakeBudgetForEachCall(t *testing.T) {
	attempts := func(budget func() *backoff.Budget) (n int) {
		for range 10 {
			policy := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3)
			_ = backoff.Retry(func() error { n++; return errBusy }, backoff.WithBudget(policy, budget()))
		}
		return n
	}
	require.Equal(t, 40, attempts(func() *backoff.Budget { return new(backoff.Budget) }))
	var shared backoff.Budget
	require.Equal(t, 15, attempts(func() *backoff.Budget { return &shared }))
}
