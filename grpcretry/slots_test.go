package grpcretry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

// Calls that may be repeated and calls that may not hold slots.
func TestSlots(t *testing.T) {
	slots := backoff.NewSlots(1)
	for name, idempotent := range map[string]func(string) bool{"repeated": nil, "once": never} {
		bubble(t, name, func(t *testing.T) {
			inUse := 0
			got := call(t, t.Context(), grpcretry.Options{Slots: slots, Idempotent: idempotent}, func(int, context.Context) error {
				inUse = slots.InUse()
				return nil
			})
			require.NoError(t, got.err)
			require.Equal(t, 1, inUse)
			require.Zero(t, slots.InUse())
		})
	}
}

// Without Slots nothing limits the calls, even if all attempts time out.
func TestNoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: hang}
		client := s.dial(t, grpcretry.Options{AttemptTimeout: time.Second, MaxAttempts: 1})
		var group sync.WaitGroup
		send := func() { _ = check(t.Context(), client) }

		for range 50 {
			group.Go(send)
			time.Sleep(time.Second / 10)
		}
		group.Wait()
		for range 50 {
			group.Go(send)
		}
		synctest.Wait()
		require.EqualValues(t, 100, s.calls.Load())
		group.Wait()
		time.Sleep(time.Second) // until the service's handlers have ended
	})
}

// timedOut is how gRPC ends an attempt whose context ends.
func timedOut(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// An attempt is late if its code is DeadlineExceeded, whoever says so; then the slots limit the calls.
func TestLate(t *testing.T) {
	answer := func(err error) func(context.Context) error {
		return func(context.Context) error { return err }
	}
	type row struct {
		name    string
		attempt func(ctx context.Context) error
		late    bool
	}
	rows := []row{
		{"its timeout", timedOut, true},
		{"a status that is wrapped", answer(fmt.Errorf("orders: %w", status.Error(codes.DeadlineExceeded, "no"))), true},
		{"an error of another interceptor", answer(fmt.Errorf("a token: %w", context.DeadlineExceeded)), true},
		{"an error without a status", answer(errors.New("no")), false},
		{"slow down", answer(slowDown(time.Millisecond)), false},
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		rows = append(rows, row{code.String(), answer(status.Error(code, "no")), code == codes.DeadlineExceeded})
	}

	for _, test := range rows {
		for name, idempotent := range map[string]func(string) bool{"repeated": nil, "once": never} {
			bubble(t, test.name+", "+name, func(t *testing.T) {
				slots := new(backoff.Slots)
				o := grpcretry.Options{Slots: slots, AttemptTimeout: time.Second, Idempotent: idempotent, Policy: every(0)}
				var group sync.WaitGroup
				defer group.Wait()
				for range 5 { // trouble is not believed in the first second
					group.Go(func() { _ = intercept(t.Context(), o, test.attempt) })
					time.Sleep(time.Second / 2)
				}
				require.Equal(t, test.late, slots.Limit() < math.MaxInt)
			})
		}
	}
}

// A poll that ends by its own deadline counts as late, also without AttemptTimeout.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := new(backoff.Slots)
		s := &service{answer: hang}
		client := s.dial(t, grpcretry.Options{Slots: slots, AttemptTimeout: -1})
		var group sync.WaitGroup
		for range 5 { // trouble is not believed in the first second
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_ = check(ctx, client)
			})
			time.Sleep(time.Second / 2)
		}
		require.Less(t, slots.Limit(), math.MaxInt)
		group.Wait()
		time.Sleep(time.Second) // until the service's handlers have ended
	})
}

// What comes back soon is an answer if it is final, also of a call that is sent once. While other attempts are late,
// answers make more slots.
func TestQuick(t *testing.T) {
	for _, test := range []struct {
		idempotent func(string) bool
		attempt    error
		want       bool
	}{
		{nil, nil, true},
		{nil, errGone, true},
		{nil, errBusy, false},
		{never, nil, true},
		{never, errGone, true},
		{never, errBusy, true},
		{never, slowDown(time.Second), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := grpcretry.Options{
				Slots:          new(backoff.Slots),
				AttemptTimeout: time.Second,
				MaxAttempts:    2,
				Policy:         every(0),
			}
			var group sync.WaitGroup
			defer group.Wait()
			send := func(idempotent func(string) bool, attempt func(ctx context.Context) error) { // ten in a second
				o := o
				o.Idempotent = idempotent
				group.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					_ = intercept(ctx, o, attempt)
				})
				time.Sleep(time.Second / 10)
			}
			answer := func(context.Context) error { return test.attempt }

			for range 50 {
				send(test.idempotent, answer)
			}
			require.Equal(t, math.MaxInt, o.Slots.Limit())
			least := math.MaxInt
			for range 100 {
				send(test.idempotent, answer)
				send(nil, timedOut)
				least = min(least, o.Slots.Limit())
			}
			require.Less(t, least, math.MaxInt)
			more := o.Slots.Limit() > least+2 // than a share of what is usual, which is rounded and varies a little
			require.Equal(t, test.want, more, "%v", test.attempt)
		})
	}
}

// What tells the Retrier that an attempt was late is seen by nobody else, however the call ends. (An error that stands
// for the context's is the library's, and says of itself whether it was late.)
func TestVerdictHidden(t *testing.T) {
	late := status.Error(codes.DeadlineExceeded, "no")
	lateWithWait := withDetails(codes.DeadlineExceeded, wait(time.Second))
	for name, test := range map[string]struct {
		options  grpcretry.Options
		status   error
		ends     error
		notified int
	}{
		"sent once":            {grpcretry.Options{Idempotent: never}, late, late, 0},
		"no retries":           {grpcretry.Options{MaxAttempts: 1}, late, late, 0},
		"not retried":          {grpcretry.Options{Retryable: func(error) bool { return false }}, late, late, 0},
		"no retries left":      {grpcretry.Options{}, late, backoff.ErrRetriesExhausted, 3},
		"none left, with wait": {grpcretry.Options{}, lateWithWait, backoff.ErrRetriesExhausted, 3},
		"too long a wait":      {grpcretry.Options{MaxRetryAfter: 1}, lateWithWait, backoff.ErrRetriesExhausted, 0},
		"budget empty":         {grpcretry.Options{MaxAttempts: 10, Budget: new(backoff.Budget)}, late, backoff.ErrBudgetExhausted, 5},
	} {
		bubble(t, name, func(t *testing.T) {
			var told []error
			o := test.options
			o.Policy = every(0)
			o.Notify = func(_ context.Context, _ string, _ int, err error, _ time.Duration) { told = append(told, err) }

			err := intercept(t.Context(), o, func(context.Context) error { return test.status })
			require.ErrorIs(t, err, test.ends)
			require.Len(t, told, test.notified)
			for _, err := range append(told, err) {
				require.ErrorIs(t, err, test.status)
				var l interface{ LateAttempt() bool }
				require.False(t, errors.As(err, &l), "%T", l)
			}
		})
	}
}
