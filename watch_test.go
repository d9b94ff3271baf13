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
	return &backoff.Retrier{AttemptTimeout: time.Second, MaxAttempts: 1, Slots: new(backoff.Slots)}
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

// hangs is an attempt that hangs for so long after the first minute, and is quick else.
func hangs(d time.Duration) func(context.Context) error {
	begin := time.Now()
	return func(ctx context.Context) error {
		since := time.Since(begin) - time.Minute
		if since >= 0 && since < d {
			return hang(ctx)
		}
		return takes(50*time.Millisecond, nil)(ctx)
	}
}

// takes is an attempt that takes so long and then ends with err, whatever its context says.
func takes(d time.Duration, err error) func(context.Context) error {
	return takesThen(d, func() error { return err })
}

// takesThen is an attempt that takes so long and then ends with what outcome returns.
func takesThen(d time.Duration, outcome func() error) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return outcome()
	}
}

// cycle returns what repeats outcomes, in any goroutine.
func cycle(outcomes ...error) func() error {
	var n atomic.Int64
	return func() error { return outcomes[int(n.Add(1))%len(outcomes)] }
}

// launch begins n calls, and returns when each is in its attempt or in line.
func launch(t *testing.T, r *backoff.Retrier, n int, op func(context.Context) error) *sync.WaitGroup {
	t.Helper()
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { _ = r.Do(t.Context(), op) })
	}
	synctest.Wait()
	return &calls
}

// atOnce makes n calls at once, and waits for them.
func atOnce(t *testing.T, r *backoff.Retrier, n int, op func(context.Context) error) {
	t.Helper()
	launch(t, r, n, op).Wait()
}

// steadily begins so many calls in a second, for so long, and then waits for them.
func steadily(t *testing.T, r *backoff.Retrier, perSecond int, d time.Duration, op func(context.Context) error) {
	t.Helper()
	var calls sync.WaitGroup
	for range int(d.Seconds()) * perSecond {
		time.Sleep(time.Second / time.Duration(perSecond))
		calls.Go(func() { _ = r.Do(t.Context(), op) })
	}
	calls.Wait()
}

// hangsAtFirst begins so many calls in a second, for so long, to a service that hangs for 20 seconds, once more after each of
// the pauses, and answers slowly else.
func hangsAtFirst(t *testing.T, r *backoff.Retrier, perSecond int, d time.Duration, pauses ...time.Duration) {
	t.Helper()
	begin := time.Now()
	steadily(t, r, perSecond, d, func(ctx context.Context) error {
		for _, pause := range append(pauses, 0) {
			since := time.Since(begin) - pause
			if since >= 0 && since < 20*time.Second {
				return hang(ctx)
			}
		}
		return takes(900*time.Millisecond, nil)(ctx)
	})
}

// serve makes calls that are answered immediately: so many in a second, for so long.
func serve(t *testing.T, r *backoff.Retrier, perSecond int, d time.Duration) {
	t.Helper()
	for range int(d.Seconds()) * perSecond {
		require.NoError(t, r.Do(t.Context(), always(nil)))
		time.Sleep(time.Second / time.Duration(perSecond))
	}
}

// fallen returns a Retrier whose service has fallen.
func fallen(t *testing.T) *backoff.Retrier {
	t.Helper()
	r := sizing()
	fall(t, r)
	return r
}

// fallenSlowly is fallen with answers that were not quick.
func fallenSlowly(t *testing.T) *backoff.Retrier {
	t.Helper()
	r := sizing()
	steadily(t, r, 8, time.Minute, takes(time.Second/2, nil))
	atOnce(t, r, 20, hang)
	require.Equal(t, 6, r.Slots.Limit())
	return r
}

// fall makes the service of r answer eight calls a second for a minute, and then hang. From then on there are six slots.
func fall(t *testing.T, r *backoff.Retrier) {
	t.Helper()
	serve(t, r, 8, time.Minute)
	atOnce(t, r, 20, hang)
	require.Equal(t, 6, r.Slots.Limit())
}

// goOn lets the service of fall hang for 20 seconds more, in which calls come as before. Then there is one slot, and no call.
func goOn(t *testing.T, r *backoff.Retrier) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	for range 20 * 8 {
		time.Sleep(time.Second / 8)
		go func() { _ = r.Do(ctx, hang) }()
	}
	cancel()
	synctest.Wait()
	require.Equal(t, 1, r.Slots.Limit())
	require.Zero(t, r.Slots.InUse())
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
			calls := launch(t, r, 500, takes(100*time.Millisecond, nil))
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
			answered := launch(t, r, 60, takes(2*time.Second-1, nil))
			late := launch(t, r, 20, takes(2*time.Second, context.DeadlineExceeded))
			more := launch(t, r, 1, takes(2*time.Second+1, context.DeadlineExceeded))
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
		"but two at once": func(t *testing.T) {
			r := sizing()
			serve(t, r, 1, 10*time.Second)
			atOnce(t, r, 2, hang)
			require.Equal(t, 1, r.Slots.Limit())
		},
		"one late attempt counts once": func(t *testing.T) { // although its call ends later, in a wait
			r := sizing()
			serve(t, r, 1, 10*time.Second)
			patient := *r
			patient.MaxAttempts = 2
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
				time.Sleep(time.Second / 10)
				atOnce(t, r, 1, always(nil))
				require.Equal(t, math.MaxInt, r.Slots.Limit(), "and after it only what is late then")
				time.Sleep(time.Hour)
			}
			r.AttemptTimeout = time.Second
			atOnce(t, r, 100, hang)
			require.InDelta(t, 75, r.Slots.Limit(), 3, "later, it is believed")
		},
	})
}

// Trouble is seen when a quarter of the last attempts are late, by their weight.
func TestWatchBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		serve(t, r, 20, time.Minute)
		begin := time.Now()
		go steadily(t, r, 20, 10*time.Second, hang)
		for r.Slots.Limit() == math.MaxInt {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(t, 1.65, time.Since(begin).Seconds(), 0.1)
		time.Sleep(time.Minute)
	})
}

// In trouble there are slots for three quarters of the usual calls, if each attempt takes all of its time.
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
		"no deadline":            {math.MaxInt64, 0, 8, 6 * 3600}, // as if an attempt could take an hour
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
				require.InEpsilon(t, test.slots, r.Slots.Limit(), 0.001)
			})
		})
	}
}

// What an attempt says of the service, by how it ended: that it was late, that the answer was quick, or neither.
func TestWatchOutcomes(t *testing.T) {
	nested := func(ctx context.Context) error { // its loop refuses a wait
		return (&backoff.Retrier{Policy: every(time.Hour)}).Do(ctx, always(errFailed))
	}
	const third = time.Second/3 - time.Millisecond
	const isLate, isQuick, isInTime, saysNothing = "late", "quick", "in time", "nothing"
	for name, test := range map[string]struct {
		want string
		op   func(ctx context.Context) error
	}{
		"success":                   {isQuick, always(nil)},
		"success after a third":     {isQuick, takes(third, nil)},
		"success after more":        {isInTime, takes(third+time.Microsecond, nil)},
		"late success":              {isInTime, func(ctx context.Context) error { _ = hang(ctx); return nil }},
		"permanent":                 {isQuick, always(backoff.Permanent(errFailed))},
		"permanent after more":      {isInTime, takes(third+time.Microsecond, backoff.Permanent(errFailed))},
		"refused by Retryable":      {isQuick, always(io.EOF)},
		"failure":                   {isInTime, always(errFailed)},
		"asks for a wait":           {isInTime, always(backoff.RetryAfter(errFailed, time.Hour))},
		"its time is over":          {isLate, hang},
		"its time is long over":     {isLate, takes(2*time.Second, errFailed)},
		"whatever the error":        {isLate, func(ctx context.Context) error { _ = hang(ctx); return errFailed }},
		"permanent, and late":       {isLate, func(ctx context.Context) error { return backoff.Permanent(hang(ctx)) }},
		"it says so":                {isLate, always(context.DeadlineExceeded)},
		"it says so, Timeout not":   {isLate, always(errors.Join(timeout{false}, context.DeadlineExceeded))},
		"it says so, wrapped":       {isLate, always(fmt.Errorf("get: %w", context.DeadlineExceeded))},
		"Timeout":                   {isLate, always(timeout{true})},
		"no Timeout":                {isInTime, always(timeout{false})},
		"refused, but a timeout":    {isLate, always(errors.Join(io.EOF, timeout{true}))},
		"verdict":                   {isLate, always(lateness{errFailed, true})},
		"verdict, permanent":        {isLate, always(lateness{backoff.Permanent(errFailed), true})},
		"verdict, a timeout":        {isInTime, always(lateness{timeout{true}, false})},
		"verdict after its time":    {isInTime, func(ctx context.Context) error { return lateness{hang(ctx), false} }},
		"a nested loop's refusal":   {isInTime, nested},
		"a nested loop was refused": {isLate, nestedIn(time.Minute, time.Hour, hang)},
		"refused after a timeout":   {isLate, nestedIn(time.Minute, time.Hour, always(timeout{true}))},
		"a nested loop's deadline":  {isLate, nestedIn(time.Millisecond, 0, func(ctx context.Context) error { _ = hang(ctx); return errFailed })},
		"a nested loop's timeout":   {isLate, func(ctx context.Context) error { return (&backoff.Retrier{}).Do(ctx, hang) }},
		"a nested loop's end":       {isInTime, nestedCancelled},
		"a nested loop had no slot": {isInTime, always(backoff.ErrNoSlot)},
		"goexit":                    {saysNothing, func(context.Context) error { runtime.Goexit(); return nil }},
		"panic":                     {saysNothing, func(context.Context) error { panic("boom") }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, map[string]func(t *testing.T){
				"late": func(t *testing.T) {
					r := sizing()
					serve(t, r, 1, 5*time.Second)
					try(t, r, 20, test.op)
					require.Equal(t, test.want == isLate, r.Slots.Limit() < math.MaxInt)
				},
				"quick": func(t *testing.T) { // beside late ones, it makes more slots for the calls that wait
					r := fallen(t)
					try(t, r, 20, func(ctx context.Context) error {
						time.Sleep(time.Millisecond)
						return test.op(ctx)
					})
					limit := r.Slots.Limit()
					require.Equal(t, test.want == isQuick, limit > 6 && limit < math.MaxInt)
				},
				"in time": func(t *testing.T) { // it counts as not late
					r := sizing()
					serve(t, r, 1, 5*time.Second)
					try(t, r, 100, test.op)
					r.AttemptTimeout = 1
					atOnce(t, r, 20, hang)
					inTime := test.want == isQuick || test.want == isInTime
					require.Equal(t, inTime, r.Slots.Limit() == math.MaxInt)
				},
			})
		})
	}
}

// An attempt whose time is over is late, also if its context has not noticed yet: a connection's deadline may come first.
func TestWatchUnaware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		serve(t, r, 1, 5*time.Second)
		endless := *r
		endless.AttemptTimeout = -1
		ctx := unaware{t.Context(), time.Now().Add(time.Second)}
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { _ = endless.Do(ctx, takes(time.Second, errFailed)) })
		}
		calls.Wait()
		require.Less(t, r.Slots.Limit(), math.MaxInt)
	})
}

// try makes n calls at once, which may panic or exit. Each has a deadline.
func try(t *testing.T, r *backoff.Retrier, n int, op func(context.Context) error) {
	t.Helper()
	c := *r
	c.Retryable = func(err error) bool { return !errors.Is(err, io.EOF) }
	c.MaxAttempts = 0
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

// nestedIn is an attempt that makes a call of its own, with this deadline, and this wait after its first attempt.
func nestedIn(deadline, wait time.Duration, op func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		return (&backoff.Retrier{AttemptTimeout: time.Millisecond, Policy: every(wait)}).Do(ctx, op)
	}
}

// nestedCancelled is an attempt that cancels a call of its own.
func nestedCancelled(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	return new(backoff.Retrier).Do(ctx, func(context.Context) error {
		cancel()
		return errFailed
	})
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

// A verdict is taken off. One around nothing is a failure all the same.
func TestWatchVerdict(t *testing.T) {
	r := backoff.Retrier{MaxAttempts: 1}
	require.Same(t, errFailed, r.Do(t.Context(), always(lateness{errFailed, true})))
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
			r := fallen(t)
			atOnce(t, r, 70, always(nil))
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"too many are late": func(t *testing.T) {
			r := fallen(t)
			atOnce(t, r, 6, always(nil))
			require.Equal(t, 6, r.Slots.Limit())
		},
		"calls wait": func(t *testing.T) {
			r := fallen(t)
			calls := launch(t, r, 100, takes(500*time.Millisecond, nil))
			require.Equal(t, 94, r.Slots.Waiting())
			for r.Slots.Waiting() > 0 {
				require.LessOrEqual(t, r.Slots.Limit(), 20)
				time.Sleep(10 * time.Millisecond)
			}
			calls.Wait()
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"the last one leaves the line": func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, time.Minute)
			first := launch(t, r, 60, takes(1500*time.Millisecond, nil))
			others := launch(t, r, 30, takes(2*time.Second, nil))
			atOnce(t, r, 20, hang)
			ctx, cancel := context.WithCancel(t.Context())
			var last sync.WaitGroup
			last.Go(func() { require.ErrorIs(t, r.Do(ctx, unexpected), backoff.ErrNoSlot) })

			first.Wait() // now the trouble is over
			require.Equal(t, 1, r.Slots.Waiting())
			require.Less(t, r.Slots.Limit(), 30)
			cancel()
			last.Wait()
			require.Equal(t, 30, r.Slots.InUse())
			require.Equal(t, math.MaxInt, r.Slots.Limit())
			others.Wait()
		},
	})
}

// What a metric reads changes nothing.
func TestWatchMetric(t *testing.T) {
	var limits [2][]int
	for i, read := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, time.Minute)
			for range 50 {
				atOnce(t, r, 3, hang)
				if read {
					r.Slots.Limit()
				}
				serve(t, r, 4, time.Second)
				if read {
					r.Slots.InUse()
				}
				limits[i] = append(limits[i], r.Slots.Limit())
				if read {
					time.Sleep(2 * time.Second)
					r.Slots.Limit()
					time.Sleep(2 * time.Second)
				} else {
					time.Sleep(4 * time.Second)
				}
			}
		})
	}
	require.Equal(t, limits[0], limits[1])
}

// While nearly all attempts are late, half of the slots go every five times of an attempt, which are half a second at
// least and ten minutes at most.
func TestWatchHalves(t *testing.T) {
	for timeout, interval := range map[time.Duration]time.Duration{
		50 * time.Millisecond: time.Second / 2,
		time.Second:           5 * time.Second,
		3 * time.Second:       15 * time.Second,
		10 * time.Minute:      10 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := sizing()
			r.AttemptTimeout = timeout
			var answered sync.WaitGroup
			for range 200 * 8 {
				answered.Go(func() { _ = r.Do(t.Context(), takes(timeout/2, nil)) })
				time.Sleep(timeout / 8)
			}
			answered.Wait()
			for r.Slots.Limit() == math.MaxInt {
				atOnce(t, r, 8, hang)
			}
			require.Equal(t, 6, r.Slots.Limit())

			step := min(timeout, interval/20)
			calls := launch(t, r, 2000, takes(step, context.DeadlineExceeded))
			for limit := 6; limit > 1; limit = r.Slots.Limit() {
				begin := time.Now()
				for r.Slots.Limit() == limit {
					time.Sleep(step / 10)
				}
				require.InDelta(t, float64(limit)/2, r.Slots.Limit(), 0.5)
				require.InDelta(t, interval+step, time.Since(begin), 1.2*float64(step), "with a timeout of %v", timeout)
			}
			calls.Wait()
			require.Equal(t, 1, r.Slots.Limit())
		})
	}
}

// A cut starts from no more than the usual calls: what a partial hang has added does not stand in its way.
func TestWatchHalvesUsual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fallen(t)
		calls := launch(t, r, 12000, takesThen(10*time.Millisecond, cycle(nil, context.DeadlineExceeded)))
		for r.Slots.Limit() < 200 {
			time.Sleep(time.Millisecond)
		}
		require.Less(t, r.Slots.Limit(), math.MaxInt)
		calls.Wait()
		require.Greater(t, r.Slots.Limit(), 200)

		next := takesThen(0, cycle(nil, context.DeadlineExceeded, context.DeadlineExceeded))
		for range 180 { // the burst is no longer usual
			atOnce(t, r, 1, next)
			time.Sleep(time.Second)
		}
		require.Greater(t, r.Slots.Limit(), 200)
		for range 8 {
			atOnce(t, r, 1, always(context.DeadlineExceeded))
			time.Sleep(time.Second)
		}
		require.Equal(t, 1, r.Slots.Limit())
	})
}

// How many slots there are while calls wait, once the service is well again.
func TestWatchGrowth(t *testing.T) {
	inBubbles(t, map[string]func(t *testing.T){
		"what is right comes back": func(t *testing.T) {
			r := fallen(t)
			go hangsAtFirst(t, r, 8, 200*time.Second) // as many as are usual
			time.Sleep(20 * time.Second)
			require.LessOrEqual(t, r.Slots.Limit(), 2)
			time.Sleep(15 * time.Second)
			require.Equal(t, 5, r.Slots.Limit(), "six were too many, so it is three quarters")
			time.Sleep(35 * time.Second)
			require.Equal(t, 5, r.Slots.Limit())
			time.Sleep(25 * time.Second)
			require.Equal(t, 6, r.Slots.Limit(), "a third more after a minute")
			time.Sleep(60 * time.Second)
			require.Equal(t, 8, r.Slots.Limit(), "and after another")
			time.Sleep(5 * time.Minute)
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		},
		"a third more of what is right, with fewer calls": func(t *testing.T) {
			r := fallen(t)
			go hangsAtFirst(t, r, 6, 3*time.Minute)
			time.Sleep(80 * time.Second)
			require.Equal(t, 5, r.Slots.Limit())
			time.Sleep(20 * time.Second)
			require.Equal(t, 6, r.Slots.Limit())
			time.Sleep(15 * time.Minute)
		},
		"a third more of the share, with more calls": func(t *testing.T) {
			r := fallen(t)
			go hangsAtFirst(t, r, 12, 90*time.Second)
			time.AfterFunc(90*time.Second, func() { steadily(t, r, 11, 90*time.Second, takes(900*time.Millisecond, nil)) })
			time.Sleep(50 * time.Second)
			require.Equal(t, 6, r.Slots.Limit())
			time.Sleep(125 * time.Second)
			require.GreaterOrEqual(t, r.Slots.Limit(), 8)
			time.Sleep(15 * time.Minute)
		},
		"each cut of what is right lowers it": func(t *testing.T) {
			r := fallen(t)
			go hangsAtFirst(t, r, 8, 4*time.Minute, time.Minute)
			time.Sleep(time.Minute)
			require.Equal(t, 5, r.Slots.Limit())
			time.Sleep(time.Minute)
			require.Equal(t, 4, r.Slots.Limit())
			time.Sleep(time.Minute)
			require.Equal(t, 5, r.Slots.Limit(), "as before the second cut")
			time.Sleep(15 * time.Minute)
		},
		"up to the share, while some are late": func(t *testing.T) {
			r := fallen(t)
			go steadily(t, r, 24, time.Minute, takesThen(900*time.Millisecond, cycle(nil, context.DeadlineExceeded)))
			time.Sleep(5 * time.Second)
			require.Equal(t, 6, r.Slots.Limit(), "not so soon after a cut")
			time.Sleep(2 * time.Second)
			require.Equal(t, 7, r.Slots.Limit())
			time.Sleep(53 * time.Second)
			require.InDelta(t, 16, r.Slots.Limit(), 1)
			time.Sleep(15 * time.Minute)
		},
		"three quarters of what is usual at most": func(t *testing.T) {
			r := sizing()
			for range 30 {
				atOnce(t, r, 1, always(nil))
				time.Sleep(2 * time.Second)
			}
			atOnce(t, r, 3, hang)
			require.Equal(t, 1, r.Slots.Limit())
			go steadily(t, r, 16, time.Minute, takes(900*time.Millisecond, nil))
			time.Sleep(time.Minute)
			require.InDelta(t, 10, r.Slots.Limit(), 1)
			time.Sleep(5 * time.Minute)
		},
		"not at a late attempt": func(t *testing.T) {
			r := fallen(t)
			var inTime atomic.Int64
			next := cycle(nil, context.DeadlineExceeded, context.DeadlineExceeded)
			begin := time.Now()
			calls := launch(t, r, 500, takesThen(400*time.Millisecond, func() error {
				if time.Since(begin) < 20*time.Second {
					return context.DeadlineExceeded
				}
				err := next()
				if err == nil {
					inTime.Add(1)
				}
				return err
			}))
			time.Sleep(20 * time.Second)
			for r.Slots.Limit() == 1 {
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
			}
			before := inTime.Load()
			for range 1000 {
				require.LessOrEqual(t, r.Slots.Limit(), int(2+inTime.Load()-before))
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
			}
			require.Equal(t, 4, r.Slots.Limit())
			calls.Wait()
		},
		"a share of what is usual, if that is more": func(t *testing.T) {
			r := fallen(t)
			go steadily(t, r, 40, time.Minute, takes(400*time.Millisecond, nil)) // in place of eight
			time.Sleep(10 * time.Second)
			require.Greater(t, r.Slots.Limit(), 12)
			time.Sleep(50 * time.Second)
			require.Equal(t, math.MaxInt, r.Slots.Limit(), "no call waits any more")
			time.Sleep(time.Minute)
		},
		"twice as many when all have been used": func(t *testing.T) {
			r := sizing()
			serve(t, r, 64, time.Minute)
			atOnce(t, r, 100, hang)
			require.InDelta(t, 48, r.Slots.Limit(), 5)
			begin := time.Now()
			var inTime atomic.Int64
			calls := launch(t, r, 6000, takesThen(400*time.Millisecond, func() error {
				if time.Since(begin) < 40*time.Second {
					return context.DeadlineExceeded
				}
				inTime.Add(1)
				return errFailed
			}))
			time.Sleep(40 * time.Second)
			require.Equal(t, 1, r.Slots.Limit())
			for r.Slots.Limit() < 8 { // until the trouble is over, by less
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
			}
			limit := r.Slots.Limit()
			require.LessOrEqual(t, limit, 20)
			before := int(inTime.Load())
			for r.Slots.Limit() < 30 {
				require.Equal(t, limit+int(inTime.Load())-before, r.Slots.Limit(), "one for each")
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
			}
			require.LessOrEqual(t, r.Slots.Limit(), limit+int(inTime.Load())-before)
			require.Less(t, time.Since(begin), 50*time.Second)
			calls.Wait()
		},
		"no more than is right": func(t *testing.T) {
			r := sizing()
			serve(t, r, 2, time.Minute)
			atOnce(t, r, 4, hang)
			require.Equal(t, 2, r.Slots.Limit())
			go hangsAtFirst(t, r, 2, 80*time.Second)
			time.Sleep(25 * time.Second)
			for range 50 { // 1.2 are right
				require.Equal(t, 1, r.Slots.Limit())
				time.Sleep(time.Second)
			}
			time.Sleep(10 * time.Minute)
		},
		"a cut does not raise what is right": func(t *testing.T) {
			r := fallen(t)
			var phase atomic.Int32
			phases := []func(context.Context) error{
				takesThen(10*time.Millisecond, cycle(nil, context.DeadlineExceeded)),
				takes(400*time.Millisecond, context.DeadlineExceeded),
				takes(200*time.Millisecond, nil),
			}
			calls := launch(t, r, 12000, func(ctx context.Context) error { return phases[phase.Load()](ctx) })
			for r.Slots.Limit() < 200 {
				time.Sleep(time.Millisecond)
			}
			phase.Store(1)
			for r.Slots.Limit() > 1 {
				time.Sleep(time.Second)
			}
			phase.Store(2)
			time.Sleep(5 * time.Second)
			require.LessOrEqual(t, r.Slots.Limit(), 20)
			calls.Wait()
		},
		"what is right is kept if trouble comes before that": func(t *testing.T) {
			r := fallen(t)
			go hangsAtFirst(t, r, 8, 2*time.Minute, 24*time.Second)
			time.Sleep(24 * time.Second)
			require.Less(t, r.Slots.Limit(), 5)
			time.Sleep(40 * time.Second)
			require.Equal(t, 5, r.Slots.Limit())
			time.Sleep(10 * time.Minute)
		},
		"failures in time are a reason, too": func(t *testing.T) {
			r := fallen(t)
			begin := time.Now()
			calls := launch(t, r, 500, takesThen(400*time.Millisecond, func() error {
				if time.Since(begin) < 20*time.Second {
					return context.DeadlineExceeded
				}
				return errFailed
			}))
			time.Sleep(20 * time.Second)
			require.LessOrEqual(t, r.Slots.Limit(), 2)
			time.Sleep(20 * time.Second)
			require.GreaterOrEqual(t, r.Slots.Limit(), 5)
			calls.Wait()
		},
		"not while some are late": func(t *testing.T) {
			r := fallen(t)
			slowly := takesThen(900*time.Millisecond, cycle(nil, context.DeadlineExceeded)) // none is quick
			go steadily(t, r, 8, 2*time.Minute, slowly)
			time.Sleep(time.Minute)
			require.InDelta(t, 6, r.Slots.Limit(), 1, "neither more nor fewer")
			time.Sleep(5 * time.Minute)
		},
		"not if many answers are slow": func(t *testing.T) {
			r := fallenSlowly(t)
			var n atomic.Int64
			calls := launch(t, r, 300, func(ctx context.Context) error {
				switch n.Add(1) % 10 {
				case 0, 3, 6:
					return hang(ctx)
				case 1, 5: // two of seven in time are not quick
					return takes(900*time.Millisecond, nil)(ctx)
				}
				return takes(300*time.Millisecond, nil)(ctx)
			})
			for range 49 {
				time.Sleep(time.Second / 10)
				require.Equal(t, 6, r.Slots.Limit())
			}
			calls.Wait()
		},
		"if answers were slow once": func(t *testing.T) {
			r := fallenSlowly(t)
			calls := launch(t, r, 300, takesThen(200*time.Millisecond, cycle(nil, context.DeadlineExceeded)))
			time.Sleep(4900 * time.Millisecond)
			require.Greater(t, r.Slots.Limit(), 10)
			calls.Wait()
		},
		"not for quick answers once the trouble is over": func(t *testing.T) {
			r := fallen(t)
			calls := launch(t, r, 500, takes(100*time.Millisecond, nil))
			time.Sleep(time.Second)
			limit := r.Slots.Limit()
			time.Sleep(3500 * time.Millisecond)
			require.Equal(t, limit, r.Slots.Limit())
			calls.Wait()
		},
		"trouble now and then": func(t *testing.T) {
			r := fallen(t)
			begin := time.Now()
			go steadily(t, r, 8, 4*time.Minute, func(context.Context) error {
				time.Sleep(800 * time.Millisecond)
				now := time.Since(begin)
				if now < 20*time.Second || now%(30*time.Second) > 28*time.Second {
					return context.DeadlineExceeded
				}
				return nil
			})
			time.Sleep(30 * time.Second)
			for range 210 {
				time.Sleep(time.Second)
				require.Equal(t, 5, r.Slots.Limit())
			}
			time.Sleep(10 * time.Minute)
		},
		"if a part hangs": func(t *testing.T) {
			r := fallen(t)
			var quick atomic.Int64
			next := cycle(nil, context.DeadlineExceeded)
			calls := launch(t, r, 1000, takesThen(200*time.Millisecond, func() error {
				err := next()
				if err == nil {
					quick.Add(1)
				}
				return err
			}))
			for quick.Load() < 32 { // which make ten slots of six
				time.Sleep(time.Millisecond)
			}
			for range 50 {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				require.InDelta(t, 10+0.1*float64(quick.Load()-32), r.Slots.Limit(), 0.8)
			}
			require.Greater(t, r.Slots.Limit(), 20)
			calls.Wait()
		},
		"if most hang": func(t *testing.T) { // seven of nine
			r := fallen(t)
			late := context.DeadlineExceeded
			calls := launch(t, r, 3000, takesThen(200*time.Millisecond, cycle(nil, late, late, late, nil, late, late, late, late)))
			time.Sleep(20 * time.Second)
			require.Greater(t, r.Slots.Limit(), 20)
			calls.Wait()
		},
	})
}

// After a trouble, the healthy calls are served again, whoever else calls: three retries without slots would lose none.
func TestWatchLockOut(t *testing.T) {
	// requireServed makes calls with this deadline, at a growing rate, for ten minutes. From then on, at most one in fifty may
	// be lost.
	requireServed := func(
		t *testing.T, r *backoff.Retrier, deadline, from time.Duration, rate func(seconds float64) int, op func(context.Context) error,
	) {
		t.Helper()
		var begun, lost atomic.Int64
		var calls sync.WaitGroup
		for second := range 600 {
			perSecond := rate(float64(second))
			for range perSecond {
				time.Sleep(time.Second / time.Duration(perSecond))
				calls.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), deadline)
					defer cancel()
					err := r.Do(ctx, op)
					if time.Duration(second)*time.Second < from {
						return
					}
					begun.Add(1)
					if err != nil {
						lost.Add(1)
					}
				})
			}
		}
		calls.Wait()
		require.LessOrEqual(t, 50*lost.Load(), begun.Load())
	}
	inBubbles(t, map[string]func(t *testing.T){
		"workers whose calls go on hanging": func(t *testing.T) {
			r := &backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)}
			hung := hangs(time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			var workers sync.WaitGroup
			for range 10 {
				workers.Go(func() {
					for ctx.Err() == nil {
						_ = r.Do(ctx, hung)
						time.Sleep(time.Second)
					}
				})
			}
			requireServed(t, r, 5*time.Second, 3*time.Minute, func(float64) int { return 10 }, hangs(time.Minute))
			cancel()
			workers.Wait()
		},
		"calls that the server limits": func(t *testing.T) {
			r := &backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)}
			service := hangs(10 * time.Second)
			go steadily(t, r, 1, 9*time.Minute, func(ctx context.Context) error {
				err := service(ctx)
				if err != nil {
					return err
				}
				return backoff.RetryAfter(errFailed, 5*time.Second)
			})
			requireServed(t, r, 5*time.Second, 3*time.Minute, func(float64) int { return 19 }, service)
		},
		"a service that hangs again and again": func(t *testing.T) {
			r := &backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)}
			const first, last = time.Minute, 314 * time.Second
			begin := time.Now()
			var n atomic.Int64
			requireServed(t, r, 10*time.Second, last+2*time.Minute, func(float64) int { return 40 }, func(ctx context.Context) error {
				now := time.Since(begin)
				if now >= first && now < last && (now-first)%(26*time.Second) < 20*time.Second {
					return hang(ctx)
				}
				share := (float64(7*n.Add(1)%20) + 0.5) / 20
				return takes(time.Duration(-220e6*math.Log(share)), nil)(ctx) // 0.22 s on average, and 0.8 at most
			})
		},
		"a cold start while traffic grows": func(t *testing.T) {
			r := &backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)}
			begin := time.Now()
			requireServed(t, r, 5*time.Second, 3*time.Minute, func(seconds float64) int { return int(1 + 29*min(1, seconds/30)) }, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(200*time.Millisecond + time.Duration(2e9*math.Exp(-time.Since(begin).Seconds()/5))):
					return nil
				}
			})
		},
	})
}

// A call whose attempt was late gives its slot back while calls wait in line, unless it is the only slot.
func TestWatchGiveBackLate(t *testing.T) {
	for _, test := range []struct {
		perSecond, slots int
		begins           time.Duration // the call in line
	}{
		{8, 6, time.Second},
		{1, 1, 4300 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := sizing()
			serve(t, r, test.perSecond, time.Minute)
			atOnce(t, r, 3*test.perSecond, hang)
			require.Equal(t, test.slots, r.Slots.Limit())

			hanging := *r
			hanging.MaxAttempts = 4
			hanging.Policy = every(100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond)
			var calls sync.WaitGroup
			for range test.slots {
				calls.Go(func() { _ = hanging.Do(t.Context(), hang) })
			}
			synctest.Wait()
			begin := time.Now()
			require.NoError(t, r.Do(t.Context(), func(context.Context) error {
				require.Equal(t, test.begins, time.Since(begin))
				return nil
			}))
			calls.Wait()
		})
	}
}

// While one endpoint goes on hanging, the calls of the others are served, whichever of the two can wait for longer.
func TestWatchLockOutDeadlines(t *testing.T) {
	for _, test := range []struct {
		healthy, hanging time.Duration // deadlines; AttemptTimeout is a second
		perSecond        int
		workers          int
	}{
		{time.Second, 10 * time.Minute, 10, 5}, // the healthy calls have no time to wait
		{time.Second / 2, 10 * time.Second, 40, 20},
		{time.Second, time.Hour, 10, 5},
		{20 * time.Second, 3 * time.Second, 20, 20}, // those that hang can wait for less
		{time.Hour, 10 * time.Second, 40, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)}
			begin := time.Now()
			healthy, hanging := hangs(time.Minute), hangs(time.Hour)
			do := func(deadline time.Duration, op func(context.Context) error) error {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				return r.Do(ctx, op)
			}
			var calls sync.WaitGroup
			for range test.workers {
				calls.Go(func() {
					for time.Since(begin) < 8*time.Minute {
						_ = do(test.hanging, hanging)
						time.Sleep(time.Second)
					}
				})
			}
			var lost atomic.Int64
			for time.Since(begin) < 7*time.Minute {
				time.Sleep(time.Second / time.Duration(test.perSecond))
				calls.Go(func() {
					begun := time.Now()
					err := do(test.healthy, healthy)
					if begun.Sub(begin) > 5*time.Minute && (err != nil || time.Since(begun) > 30*time.Second) {
						lost.Add(1)
					}
				})
			}
			calls.Wait()
			require.LessOrEqual(t, lost.Load(), int64(test.perSecond*120/50), "%+v", test)
		})
	}
}

// A process that starts in an outage has slots for the calls that it has begun.
func TestWatchUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		atOnce(t, r, 20, hang)
		require.Equal(t, 15, r.Slots.Limit())
	})
}

// Times that an attempt may take, from nothing to ten years, on one Slots: it can be limited, and is well again.
func TestWatchExtremes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		r.AttemptTimeout = -1
		for range 1000 {
			for _, left := range []time.Duration{1, 10 * 365 * 24 * time.Hour, math.MaxInt64} {
				ctx, cancel := context.WithTimeout(t.Context(), left)
				_ = r.Do(ctx, always(nil))
				cancel()
			}
			time.Sleep(time.Second)
		}
		r.AttemptTimeout = time.Second
		atOnce(t, r, 3000, always(context.DeadlineExceeded))
		require.Less(t, r.Slots.Limit(), 10_000)
		require.Positive(t, r.Slots.Limit())
		atOnce(t, r, 10_000, always(nil))
		require.Equal(t, math.MaxInt, r.Slots.Limit())
	})
}

// A deadline that had passed before the call adds nothing to what is usual.
func TestWatchOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		_ = r.Do(overdue{t.Context()}, always(nil))
		fall(t, r)
	})
}

// Attempts that are not the last ones of their calls are reasons for more slots, too, while calls wait; and who waits gets
// them immediately.
func TestWatchRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fallen(t)
		goOn(t, r)

		patient := *r
		patient.MaxAttempts = -1
		patient.Policy = every(make([]time.Duration, 100)...)
		op := takesThen(400*time.Millisecond, cycle(errFailed, context.DeadlineExceeded))
		first := launch(t, &patient, 1, op)
		time.Sleep(10 * time.Second)
		require.Equal(t, 1, r.Slots.Limit(), "nobody waits")
		second := launch(t, &patient, 1, op)
		time.Sleep(time.Second)
		require.Equal(t, 2, r.Slots.Limit())
		require.Equal(t, 2, r.Slots.InUse())
		first.Wait()
		second.Wait()
	})
}

// badContext is a context whose Deadline panics from the n-th call on.
type badContext struct {
	context.Context
	n *int
}

func (c badContext) Deadline() (time.Time, bool) {
	*c.n--
	if *c.n < 0 {
		panic("boom")
	}
	return c.Context.Deadline()
}

// A context that panics leaves no lock, no slot and no call behind.
func TestWatchBadContext(t *testing.T) {
	for n := range 10 {
		synctest.Test(t, func(t *testing.T) {
			r := sizing()
			r.MaxAttempts = 2
			left := n
			func() {
				defer func() { _ = recover() }()
				_ = r.Do(badContext{t.Context(), &left}, always(errFailed))
			}()
			require.Zero(t, r.Slots.InUse())
			require.Zero(t, r.Slots.Waiting())
			serve(t, r, 8, time.Minute)
			time.Sleep(4 * time.Second) // no call is left, so all is forgotten
			short := *r
			short.AttemptTimeout = time.Millisecond
			atOnce(t, &short, 50, hang)
			require.Equal(t, math.MaxInt, r.Slots.Limit())
		})
	}
}

// Three seconds after its last call has ended, a Slots knows nothing any more but, if there was a limit, what was usual.
// Calls in line and in long waits are calls.
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
			r := fallen(t)
			time.Sleep(3 * time.Second)
			require.Equal(t, 6, r.Slots.Limit())
			time.Sleep(time.Nanosecond)
			require.Equal(t, math.MaxInt, r.Slots.Limit(), "for a metric, too")
			calls := launch(t, r, 50, takes(time.Second, nil))
			require.Equal(t, 50, r.Slots.InUse())
			calls.Wait()
		},
		"but not what was usual before a limit": func(t *testing.T) {
			r := fallen(t)
			time.Sleep(4 * time.Second) // as workers do that pause when all calls fail
			require.Equal(t, math.MaxInt, r.Slots.Limit())
			for range 4 {
				atOnce(t, r, 1, hang)
			}
			require.Equal(t, 6, r.Slots.Limit())
		},
		"nor if one slot was left": func(t *testing.T) {
			r := fallen(t)
			goOn(t, r)
			time.Sleep(4 * time.Second)
			for range 4 {
				atOnce(t, r, 1, hang)
			}
			require.Equal(t, 6, r.Slots.Limit())
		},
		"ten years": func(t *testing.T) {
			r := fallen(t)
			time.Sleep(10 * 365 * 24 * time.Hour)
			require.True(t, unlimited(t, r))
			fall(t, r)
		},
		"a call of ten years": func(t *testing.T) {
			r := sizing()
			r.AttemptTimeout = math.MaxInt64
			r.MaxAttempts = 2
			r.Policy = every(time.Second)
			require.ErrorIs(t, r.Do(t.Context(), takes(10*365*24*time.Hour, errFailed)), errFailed)
			require.False(t, unlimited(t, r))
			require.Equal(t, 1, r.Slots.Limit(), "nothing was usual")
		},
		"a call in a long wait": func(t *testing.T) {
			r := sizing()
			serve(t, r, 8, time.Minute)
			patient := *r
			patient.MaxAttempts = 2
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
			calls := launch(t, &endless, 1, takes(time.Minute, nil))
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
		r.MaxAttempts = 2
		r.Policy = every(0)

		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { require.Error(t, r.Do(t.Context(), hang)) })
		}
		time.Sleep(1500 * time.Millisecond) // the second attempts
		require.Equal(t, 6, r.Slots.Limit())
		require.Equal(t, 6, r.Slots.InUse(), "not the twenty that had a slot before")
		require.Equal(t, 14, r.Slots.Waiting())
		calls.Wait()
		require.Zero(t, r.Slots.InUse())
		require.Zero(t, r.Slots.Waiting())
	})
}

// A call keeps its slot of Slots without a limit in short waits, as it keeps one of NewSlots.
func TestWatchKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sizing()
		r.MaxAttempts = 2
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
			atOnce(t, r, 20, hang)
			require.Less(t, r.Slots.Limit(), math.MaxInt)
		})
		synctest.Test(t, func(t *testing.T) {
			calls := launch(t, r, 50, takes(time.Second, nil))
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
				broken.MaxAttempts = 4
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
			serve(t, r, 1, 10*time.Second)
			atOnce(t, r, 3, hang)
			require.Equal(t, 1, r.Slots.Limit())
			calls := launch(t, r, 1, takes(10*time.Second, nil))

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
