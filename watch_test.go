//go:build go1.25

package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// sizing returns a Retrier whose Slots size themselves, and whose calls are made once.
func sizing() *backoff.Retrier {
	return &backoff.Retrier{AttemptTimeout: time.Second, MaxRetries: -1, Slots: new(backoff.Slots)}
}

// always is an attempt that ends with err, in any number of calls at once.
func always(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// hang is an attempt that takes all of its time.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// atOnce makes n calls at once, and waits for them.
func atOnce(t *testing.T, r *backoff.Retrier, n int, op func(context.Context) error) {
	t.Helper()
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { _ = r.Do(t.Context(), op) })
	}
	calls.Wait()
}

// serve makes calls that are answered immediately: so many in a second, for so long.
func serve(t *testing.T, r *backoff.Retrier, perSecond int, d time.Duration) {
	t.Helper()
	for range int(d.Seconds()) * perSecond {
		require.NoError(t, r.Do(t.Context(), always(nil)))
		time.Sleep(time.Second / time.Duration(perSecond))
	}
}

// fall makes the service of r answer eight calls a second for a minute, and then hang. From then on there are six slots.
func fall(t *testing.T, r *backoff.Retrier) {
	t.Helper()
	serve(t, r, 8, time.Minute)
	atOnce(t, r, 20, hang)
	require.Equal(t, 6, r.Slots.Limit())
}

// hold begins n calls, which take so long and then end with err.
func hold(t *testing.T, r *backoff.Retrier, n int, d time.Duration, err error) *sync.WaitGroup {
	t.Helper()
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			_ = r.Do(t.Context(), func(context.Context) error {
				time.Sleep(d)
				return err
			})
		})
	}
	synctest.Wait()
	return &calls
}

func inBubbles(t *testing.T, tests map[string]func(t *testing.T)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// While the service is well, there is a slot for every call.
func TestWatchHealthy(t *testing.T) {
	inBubbles(t, map[string]func(t *testing.T){
		"first burst": func(t *testing.T) {
			r := sizing()
			calls := hold(t, r, 500, 100*time.Millisecond, nil)
			require.Equal(t, 500, r.Slots.InUse())
			require.Equal(t, math.MaxInt, r.Slots.Limit())
			calls.Wait()
		},
		"attempts fail in time": func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, 10*time.Second)
			for range 100 {
				require.ErrorIs(t, r.Do(t.Context(), always(errFailed)), errFailed)
			}
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"a quarter is late": func(t *testing.T) {
			r := sizing()
			r.AttemptTimeout = time.Minute
			answered := hold(t, r, 60, 2*time.Second-1, nil)
			late := hold(t, r, 20, 2*time.Second, context.DeadlineExceeded)
			more := hold(t, r, 1, 2*time.Second+1, context.DeadlineExceeded)
			answered.Wait()
			late.Wait()
			require.Equal(t, math.MaxInt, r.Slots.Limit())
			more.Wait()
			require.Less(t, r.Slots.Limit(), math.MaxInt)
		},
		"one attempt is late": func(t *testing.T) {
			r := sizing()
			serve(t, r, 1, 10*time.Second)
			atOnce(t, r, 1, hang)
			time.Sleep(2 * time.Second)
			atOnce(t, r, 1, hang)
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"one late attempt counts once": func(t *testing.T) { // although its call ends later, in a wait
			r := sizing()
			serve(t, r, 1, 10*time.Second)
			patient := *r
			patient.MaxRetries = 1
			patient.Policy = every(30 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			time.AfterFunc(time.Second+time.Millisecond, cancel)
			require.ErrorIs(t, patient.Do(ctx, hang), context.Canceled)
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"the first second after a pause": func(t *testing.T) {
			r := sizing()
			for range 2 {
				r.AttemptTimeout = time.Second - 20*time.Millisecond
				atOnce(t, r, 100, hang)
				require.Equal(t, math.MaxInt, r.Slots.Limit())
				time.Sleep(time.Hour)
			}
			r.AttemptTimeout = time.Second
			atOnce(t, r, 100, hang)
			require.Equal(t, 1, r.Slots.Limit(), "later, it is believed")
		},
	})
}

// In trouble there are three quarters of what the service usually answers in the time of an attempt.
func TestWatchTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		timeout   time.Duration
		deadline  time.Duration // of the usual calls
		perSecond int
		slots     int
	}{
		"to the nearest, up":     {time.Second, 0, 10, 7},
		"to the nearest, down":   {time.Second, 0, 7, 5},
		"one at least":           {time.Second, 0, 1, 1},
		"longer attempts":        {3 * time.Second, 0, 8, 18},
		"deadlines are shorter":  {30 * time.Second, 2 * time.Second, 8, 12},
		"deadlines are longer":   {time.Second, time.Minute, 8, 6},
		"only deadlines":         {-1, 2 * time.Second, 8, 12},
		"the longest timeout":    {math.MaxInt64, 2 * time.Second, 8, 12},
		"no deadline":            {math.MaxInt64, 0, 8, math.MaxInt32},
		"hardly any time at all": {1, 0, 8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := sizing()
				r.AttemptTimeout = test.timeout
				for range 60 * test.perSecond {
					ctx, cancel := context.Background(), context.CancelFunc(func() {})
					if test.deadline > 0 {
						ctx, cancel = context.WithTimeout(ctx, test.deadline)
					}
					require.NoError(t, r.Do(ctx, always(nil)))
					cancel()
					time.Sleep(time.Second / time.Duration(test.perSecond))
				}
				late := *r
				late.AttemptTimeout = time.Millisecond
				atOnce(t, &late, 400, hang)
				require.Equal(t, test.slots, r.Slots.Limit())
			})
		})
	}
}

// What an attempt says of the service, by how it ended: that it was late, that the service has answered, or that it has
// failed in time.
func TestWatchOutcomes(t *testing.T) {
	nested := func(ctx context.Context) error { // its loop refuses a wait
		return (&backoff.Retrier{Policy: every(time.Hour)}).Do(ctx, always(errFailed))
	}
	const isLate, hasAnswered, hasFailed, saysNothing = "late", "answered", "failed", "nothing"
	for name, test := range map[string]struct {
		want string
		op   func(ctx context.Context) error
	}{
		"success":                   {hasAnswered, always(nil)},
		"late success":              {hasAnswered, func(ctx context.Context) error { _ = hang(ctx); return nil }},
		"permanent":                 {hasAnswered, always(backoff.Permanent(errFailed))},
		"refused by Retryable":      {hasAnswered, always(io.EOF)},
		"failure":                   {hasFailed, always(errFailed)},
		"asks for a wait":           {hasFailed, always(backoff.RetryAfter(errFailed, time.Hour))},
		"its time is over":          {isLate, hang},
		"whatever the error":        {isLate, func(ctx context.Context) error { _ = hang(ctx); return errFailed }},
		"permanent, and late":       {isLate, func(ctx context.Context) error { return backoff.Permanent(hang(ctx)) }},
		"it says so":                {isLate, always(context.DeadlineExceeded)},
		"it says so, wrapped":       {isLate, always(fmt.Errorf("get: %w", context.DeadlineExceeded))},
		"Timeout":                   {isLate, always(timeout{true})},
		"no Timeout":                {hasFailed, always(timeout{false})},
		"refused, but a timeout":    {isLate, always(errors.Join(io.EOF, timeout{true}))},
		"verdict":                   {isLate, always(lateness{errFailed, true})},
		"verdict, permanent":        {isLate, always(lateness{backoff.Permanent(errFailed), true})},
		"verdict, a timeout":        {hasFailed, always(lateness{timeout{true}, false})},
		"verdict after its time":    {hasFailed, func(ctx context.Context) error { return lateness{hang(ctx), false} }},
		"a nested loop's refusal":   {hasFailed, nested},
		"a nested loop was refused": {isLate, func(ctx context.Context) error { return refusedLate(ctx) }},
		"a nested loop's timeout":   {isLate, func(ctx context.Context) error { return (&backoff.Retrier{}).Do(ctx, hang) }},
		"a nested loop had no slot": {hasFailed, always(backoff.ErrNoSlot)},
		"goexit":                    {saysNothing, func(context.Context) error { runtime.Goexit(); return nil }},
		"panic":                     {saysNothing, func(context.Context) error { panic("boom") }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, map[string]func(t *testing.T){
				"late": func(t *testing.T) {
					r := sizing()
					serve(t, r, 1, 5*time.Second)
					try(t, r, 20, test.op)
					require.Equal(t, test.want == isLate, r.Slots.Limit() == 1)
				},
				"answered": func(t *testing.T) { // it counts for what is usual
					r := sizing()
					for range 60 {
						try(t, r, 8, test.op)
						time.Sleep(time.Second / 2)
						serve(t, r, 1, time.Second)
					}
					if test.want != isLate {
						atOnce(t, r, 400, hang)
						require.Equal(t, test.want == hasAnswered, r.Slots.Limit() > 1, "%d", r.Slots.Limit())
					}
				},
				"in time": func(t *testing.T) { // it counts as not late
					r := sizing()
					serve(t, r, 1, 5*time.Second)
					try(t, r, 100, test.op)
					r.AttemptTimeout = 1
					atOnce(t, r, 20, hang)
					inTime := test.want == hasAnswered || test.want == hasFailed
					require.Equal(t, inTime, r.Slots.Limit() == math.MaxInt)
				},
			})
		})
	}
}

// try makes n calls at once, which may panic or exit. Each has a deadline.
func try(t *testing.T, r *backoff.Retrier, n int, op func(context.Context) error) {
	t.Helper()
	c := *r
	c.Retryable = func(err error) bool { return !errors.Is(err, io.EOF) }
	c.MaxRetries = 0
	c.Policy = func() backoff.BackOff { return &backoff.StopBackOff{} }
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			defer func() { _ = recover() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_ = c.Do(ctx, op)
		})
	}
	calls.Wait()
}

// refusedLate is the error of a loop that refuses a wait after an attempt that was late.
func refusedLate(ctx context.Context) error {
	r := backoff.Retrier{AttemptTimeout: time.Millisecond, Policy: every(time.Hour)}
	return r.Do(ctx, hang)
}

// timeout is an error with a method Timeout.
type timeout struct{ yes bool }

func (timeout) Error() string   { return "no answer" }
func (e timeout) Timeout() bool { return e.yes }

// lateness is around an error, and knows whether its attempt was late, as in this module's clients.
type lateness struct {
	error
	yes bool
}

func (e lateness) Unwrap() error     { return e.error }
func (e lateness) LateAttempt() bool { return e.yes }

// A verdict around nothing is a failure all the same.
func TestWatchVerdict(t *testing.T) {
	r := backoff.Retrier{MaxRetries: -1}
	require.NotNil(t, r.Do(t.Context(), always(lateness{})))
}

// An attempt that the caller has cancelled says nothing, one whose deadline has come does.
func TestWatchCaller(t *testing.T) {
	for name, test := range map[string]struct {
		context func(context.Context) (context.Context, context.CancelFunc)
		limit   int
	}{
		"cancelled": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Millisecond, cancel)
				return ctx, cancel
			},
			math.MaxInt,
		},
		"deadline": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Millisecond)
			},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := sizing()
				serve(t, r, 1, 5*time.Second)
				var calls sync.WaitGroup
				for range 50 {
					calls.Go(func() {
						ctx, cancel := test.context(t.Context())
						defer cancel()
						require.Error(t, r.Do(ctx, hang))
					})
				}
				calls.Wait()
				require.Equal(t, test.limit, r.Slots.Limit())
			})
		})
	}
}

// How a limit ends, and how it does not.
func TestWatchEnd(t *testing.T) {
	inBubbles(t, map[string]func(t *testing.T){
		"attempts are in time, and no call waits": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			atOnce(t, r, 70, always(nil))
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"too many are late": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			atOnce(t, r, 6, always(nil))
			require.Equal(t, 6, r.Slots.Limit())
		},
		"calls wait": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			calls := hold(t, r, 100, 100*time.Millisecond, nil)
			require.Equal(t, 94, r.Slots.Waiting())
			time.Sleep(1500 * time.Millisecond) // 90 calls have been answered
			require.Equal(t, 6, r.Slots.InUse())
			calls.Wait()
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"the last one leaves the line": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			calls := hold(t, r, 78, 100*time.Millisecond, nil) // 13 times 6
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1250*time.Millisecond, cancel)
			var last sync.WaitGroup
			last.Go(func() { require.ErrorIs(t, r.Do(ctx, unexpected), backoff.ErrNoSlot) })

			time.Sleep(1240 * time.Millisecond)
			require.Equal(t, 1, r.Slots.Waiting())
			require.Equal(t, 6, r.Slots.Limit())
			last.Wait()
			require.Equal(t, 6, r.Slots.InUse())
			require.Equal(t, math.MaxInt, r.Slots.Limit())
			calls.Wait()
		},
		"a metric is read": func(t *testing.T) {
			r, read := sizing(), sizing()
			for _, r := range []*backoff.Retrier{r, read} {
				serve(t, r, 8, time.Minute)
			}
			for range 50 {
				atOnce(t, r, 3, hang)
				atOnce(t, read, 3, hang)
				read.Slots.Limit()
				serve(t, r, 4, time.Second)
				serve(t, read, 4, time.Second)
				read.Slots.InUse()
			}
			require.Equal(t, r.Slots.Limit(), read.Slots.Limit())
		},
	})
}

// A limit that is too low grows while calls wait and the service is well, each time that all slots have been used.
func TestWatchGrowth(t *testing.T) {
	// inLine lets calls that take 200 ms stand in line. They end with what outcome returns.
	inLine := func(t *testing.T, r *backoff.Retrier, outcome func() error) *sync.WaitGroup {
		t.Helper()
		var calls sync.WaitGroup
		for range 3000 {
			calls.Go(func() {
				_ = r.Do(t.Context(), func(context.Context) error {
					time.Sleep(200 * time.Millisecond)
					return outcome()
				})
			})
		}
		synctest.Wait()
		return &calls
	}
	well := func() error { return nil }

	inBubbles(t, map[string]func(t *testing.T){
		"after half a minute": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			calls := inLine(t, r, well)
			time.Sleep(30 * time.Second)
			require.Equal(t, 6, r.Slots.Limit())
			// Trouble ended after a second or so, when a quarter was late. Since then all slots have been used
			// five times in a second.
			time.Sleep(2 * time.Second)
			require.InDelta(t, 11, r.Slots.Limit(), 3)
			time.Sleep(10 * time.Second)
			require.Greater(t, r.Slots.Limit(), 100, "a tenth, when that is more than a slot")
			calls.Wait()
		},
		"after a second if nothing is known": func(t *testing.T) {
			r := sizing()
			atOnce(t, r, 20, hang)
			require.Equal(t, 1, r.Slots.Limit())
			calls := inLine(t, r, well)
			time.Sleep(10 * time.Second)
			require.Greater(t, r.Slots.Limit(), 3)
			calls.Wait()
		},
		"new trouble takes it back": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			var down atomic.Bool
			calls := inLine(t, r, func() error {
				if down.Load() {
					return context.DeadlineExceeded
				}
				return nil
			})
			time.Sleep(36 * time.Second)
			require.Greater(t, r.Slots.Limit(), 15)
			down.Store(true)
			time.Sleep(2 * time.Second)
			require.Equal(t, 6, r.Slots.Limit())
			calls.Wait()
		},
	})
}

// A single answer in the first seconds is nothing usual. Enough of them are.
func TestWatchLucky(t *testing.T) {
	for answers, learnt := range map[int]bool{0: true, 1: true, 50: false} {
		synctest.Test(t, func(t *testing.T) {
			r := sizing()
			first := hold(t, r, 20, time.Second, context.DeadlineExceeded)
			atOnce(t, r, answers, always(nil))
			first.Wait()
			atOnce(t, r, 100, always(context.DeadlineExceeded))
			before := r.Slots.Limit()
			require.Less(t, before, math.MaxInt)

			calls := hold(t, r, 200, 50*time.Millisecond, nil) // the service is back, and calls wait
			time.Sleep(3 * time.Second)
			require.Equal(t, learnt, r.Slots.Limit() > before, "%d answers, %d slots at first", answers, before)
			calls.Wait()
		})
	}
}

// Where nothing usual is known when trouble begins, it is learnt meanwhile.
func TestWatchUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		atOnce(t, r, 20, hang)
		require.Equal(t, 1, r.Slots.Limit())

		ops := make(chan error)
		for range 2 { // that one waits keeps the limit
			go func() {
				for err := range ops {
					_ = r.Do(t.Context(), always(err))
				}
			}()
		}
		for range 4 {
			for range 20 {
				ops <- nil
				time.Sleep(50 * time.Millisecond)
			}
			ops <- context.DeadlineExceeded
			ops <- context.DeadlineExceeded
		}
		close(ops)
		require.Greater(t, r.Slots.Limit(), 1)
	})
}

// Three seconds after its last call has ended, a Slots knows nothing any more. Calls in line and in long waits are calls.
func TestWatchForgets(t *testing.T) {
	// unlimited reports whether the next late attempts begin no limit: they are the first that it knows of.
	unlimited := func(t *testing.T, r *backoff.Retrier) bool {
		t.Helper()
		short := *r
		short.AttemptTimeout = time.Millisecond
		atOnce(t, &short, 50, hang)
		return r.Slots.Limit() == math.MaxInt
	}
	inBubbles(t, map[string]func(t *testing.T){
		"three seconds": func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, time.Minute)
			time.Sleep(3*time.Second - 125*time.Millisecond) // serve has slept for an eighth
			require.False(t, unlimited(t, r))
		},
		"more": func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, time.Minute)
			time.Sleep(3 * time.Second)
			require.True(t, unlimited(t, r))
		},
		"a limit": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			time.Sleep(3 * time.Second)
			require.Equal(t, 6, r.Slots.Limit())
			time.Sleep(time.Nanosecond)
			require.Equal(t, math.MaxInt, r.Slots.Limit(), "for a metric, too")
			calls := hold(t, r, 50, time.Second, nil)
			require.Equal(t, 50, r.Slots.InUse())
			calls.Wait()
		},
		"ten years": func(t *testing.T) {
			r := sizing()
			fall(t, r)
			time.Sleep(10 * 365 * 24 * time.Hour)
			require.True(t, unlimited(t, r))
			fall(t, r)
		},
		"a call of ten years": func(t *testing.T) {
			r := sizing()
			r.AttemptTimeout = math.MaxInt64
			calls := hold(t, r, 1, 10*365*24*time.Hour, errFailed)
			calls.Wait()
			require.False(t, unlimited(t, r))
			require.Equal(t, 1, r.Slots.Limit(), "nothing was usual")
		},
		"a call in a long wait": func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, time.Minute)
			patient := *r
			patient.MaxRetries = 1
			patient.Policy = every(time.Minute)
			var call sync.WaitGroup
			call.Go(func() { require.NoError(t, patient.Do(t.Context(), returning(errFailed, nil))) })
			time.Sleep(30 * time.Second)
			require.Zero(t, r.Slots.InUse())
			require.False(t, unlimited(t, r))
			call.Wait()
		},
		"a call without an end": func(t *testing.T) { // it is none of the slots'
			r := sizing()
			serve(t, r, 8, time.Minute)
			endless := *r
			endless.AttemptTimeout = -1
			calls := hold(t, &endless, 1, time.Minute, nil)
			require.Zero(t, r.Slots.InUse())
			time.Sleep(5 * time.Second)
			require.True(t, unlimited(t, r))
			calls.Wait()
		},
	})
}

// In trouble a call gives its slot back after a failure while more are in use than there may be, and stands in line
// again.
func TestWatchGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		serve(t, r, 8, time.Minute)
		r.MaxRetries = 1
		r.Policy = every(0)

		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { require.Error(t, r.Do(t.Context(), hang)) })
		}
		time.Sleep(1500 * time.Millisecond) // the second attempts
		require.Equal(t, 6, r.Slots.Limit())
		require.Equal(t, 6, r.Slots.InUse(), "not the twenty that had a slot before")
		require.Equal(t, 14, r.Slots.Waiting())
		require.Equal(t, 6, r.Slots.InUse())
		calls.Wait()
		require.Zero(t, r.Slots.InUse())
		require.Zero(t, r.Slots.Waiting())
	})
}

// While a service refuses most attempts, what it usually answers is not forgotten. If nothing was known, it is learnt
// all the same.
func TestWatchRefused(t *testing.T) {
	// refuse makes so many of ten calls fail, ten calls a second.
	refuse := func(t *testing.T, r *backoff.Retrier, failures int, d time.Duration) {
		t.Helper()
		for range int(d.Seconds()) {
			for i := range 10 {
				if i < failures {
					require.Error(t, r.Do(t.Context(), always(errFailed)))
				} else {
					require.NoError(t, r.Do(t.Context(), always(nil)))
				}
				time.Sleep(time.Second / 10)
			}
		}
	}
	for name, test := range map[string]struct {
		served   time.Duration
		failures int
		refused  time.Duration
		slots    int
	}{
		"all, for a minute":              {time.Minute, 10, time.Minute, 6},
		"all, for four minutes":          {time.Minute, 10, 4 * time.Minute, 6},
		"all, for ten minutes":           {time.Minute, 10, 10 * time.Minute, 1},
		"nine of ten, always":            {time.Minute, 9, 10 * time.Minute, 1},
		"four of ten":                    {time.Minute, 4, time.Minute, 5},
		"all, and nothing before":        {0, 10, time.Minute, 1},
		"six of ten, from the beginning": {0, 6, time.Minute, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := sizing()
				serve(t, r, 8, test.served)
				refuse(t, r, test.failures, test.refused)
				atOnce(t, r, 60, hang)
				require.Equal(t, test.slots, r.Slots.Limit())
			})
		})
	}
}

// A call that holds a slot of a Slots that nobody knows a limit for keeps it in short waits, as one of NewSlots does.
func TestWatchKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		r.MaxRetries = 1
		r.Policy = every(time.Second - 1)
		var call sync.WaitGroup
		call.Go(func() { require.NoError(t, r.Do(t.Context(), returning(errFailed, nil))) })
		time.Sleep(time.Second / 2)
		require.Equal(t, 1, r.Slots.InUse())
		call.Wait()
	})
}

// Copies with other timeouts share what is usual, by the time that each attempt might have taken.
func TestWatchCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		long := *r
		long.AttemptTimeout = 3 * time.Second
		for range 60 {
			serve(t, r, 4, time.Second)
			serve(t, &long, 4, time.Second)
		}
		atOnce(t, r, 30, hang)
		require.Equal(t, 6, r.Slots.Limit(), "3/4 × (2 a second × 1 s + 2 a second × 3 s)")
	})
}

// A Slots in a package variable may be used in more than one bubble, whose time starts over.
func TestWatchTimeStepsBack(t *testing.T) {
	r := sizing()
	synctest.Test(t, func(t *testing.T) { fall(t, r) })
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			calls := hold(t, r, 50, time.Second, nil)
			require.Equal(t, 50, r.Slots.InUse())
			calls.Wait()
			fall(t, r)
		})
	}
	require.NoError(t, r.Do(t.Context(), always(nil)))
	require.Equal(t, math.MaxInt, r.Slots.Limit())
}

// A hook that panics leaves no slot in use.
func TestWatchPanics(t *testing.T) {
	hooks := map[string]func(*backoff.Retrier){
		"Policy":    func(r *backoff.Retrier) { r.Policy = func() backoff.BackOff { panic("boom") } },
		"Retryable": func(r *backoff.Retrier) { r.Retryable = func(error) bool { panic("boom") } },
		"Notify": func(r *backoff.Retrier) {
			r.Notify = func(context.Context, int, error, time.Duration) { panic("boom") }
		},
		"Done": func(r *backoff.Retrier) { r.Done = func(context.Context, int, error) { panic("boom") } },
	}
	for name, set := range hooks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := sizing()
				serve(t, r, 8, time.Minute)
				broken := *r
				broken.MaxRetries = 3
				set(&broken)
				for range 1000 {
					require.Panics(t, func() { _ = broken.Do(t.Context(), always(errFailed)) })
				}
				require.Zero(t, r.Slots.InUse())
				require.Equal(t, math.MaxInt, r.Slots.Limit())
				time.Sleep(10 * time.Second)
				fall(t, r)
			})
		})
	}
}

// However many attempts there were, the share of the late ones is found.
func TestWatchMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		serve(t, r, 1, 2*time.Second)
		for range 100_000 {
			_ = r.Do(t.Context(), always(nil))
		}
		for range 33_000 {
			_ = r.Do(t.Context(), always(context.DeadlineExceeded))
		}
		require.Equal(t, math.MaxInt, r.Slots.Limit())
		for range 400 {
			_ = r.Do(t.Context(), always(context.DeadlineExceeded))
		}
		require.Less(t, r.Slots.Limit(), math.MaxInt)
	})
}

// A call waits in line as long as an attempt still has all its time then. Without an AttemptTimeout it waits for a quarter
// of its time: if it waited longer, a line would serve those who have no time left, and each attempt would be late.
func TestWatchLine(t *testing.T) {
	for timeout, wait := range map[time.Duration]time.Duration{time.Second: 7 * time.Second, -1: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := sizing()
			atOnce(t, r, 20, hang)
			require.Equal(t, 1, r.Slots.Limit())
			calls := hold(t, r, 1, 10*time.Second, nil)

			r.AttemptTimeout = timeout
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			begin := time.Now()
			require.ErrorIs(t, r.Do(ctx, unexpected), backoff.ErrNoSlot)
			require.Equal(t, wait, time.Since(begin))
			calls.Wait()
		})
	}
}
