//go:build go1.25

package backoff_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// outcome is what became of a call that waits for a slot.
type outcome struct {
	err error         // nil if it got one
	at  time.Duration // since the line began
}

// line is a line of calls that wait for slots, and hold them until release, in a bubble.
type line struct {
	slots    *backoff.Slots
	start    time.Time
	waiting  sync.WaitGroup
	releases chan struct{}
}

func newLine(t *testing.T, slots *backoff.Slots) *line {
	t.Helper()
	l := &line{slots: slots, start: time.Now(), releases: make(chan struct{})}
	t.Cleanup(func() { close(l.releases) })
	return l
}

// call makes a call whose attempt has this timeout. Its outcome may be read after wait.
func (l *line) call(ctx context.Context, timeout time.Duration) *outcome {
	o := new(outcome)
	l.waiting.Add(1)
	go func() {
		begun := false
		r := backoff.Retrier{AttemptTimeout: timeout, MaxAttempts: 1, Slots: l.slots}
		err := r.Do(ctx, func(context.Context) error {
			begun = true
			o.at = time.Since(l.start)
			l.waiting.Done()
			<-l.releases
			return nil
		})
		if !begun {
			o.err = err
			o.at = time.Since(l.start)
			l.waiting.Done()
		}
	}()
	synctest.Wait()
	return o
}

// release lets a call that has a slot end, after d.
func (l *line) release(d time.Duration) {
	l.waiting.Go(func() {
		time.Sleep(d)
		l.releases <- struct{}{}
	})
}

// wait waits until each call has its slot or has left the line, and all releases are made.
func (l *line) wait() {
	l.waiting.Wait()
	synctest.Wait()
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(3))
		for n := range 3 {
			require.Equal(t, n, line.slots.InUse())
			line.call(t.Context(), time.Second)
		}
		for n := range 3 {
			require.Equal(t, 3-n, line.slots.InUse())
			line.release(0)
			line.wait()
		}
		require.Zero(t, line.slots.InUse())
	})
}

func TestSlotsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(2))
		var calls []*outcome
		for range 7 {
			calls = append(calls, line.call(t.Context(), time.Second))
		}
		for n := range 7 {
			line.release(time.Duration(n+1) * time.Minute)
		}
		line.wait()

		for n, call := range calls {
			require.NoError(t, call.err)
			require.Equal(t, time.Duration(max(0, n-1))*time.Minute, call.at, "call %d", n)
		}
		require.Zero(t, line.slots.InUse())
	})
}

// A call waits only for as long as its deadline leaves an attempt its whole timeout, but for a quarter of what is left
// at least.
func TestSlotsDeadline(t *testing.T) {
	const never = time.Hour
	for name, test := range map[string]struct {
		deadline, timeout time.Duration // a deadline of zero is none
		release           time.Duration
		waited            time.Duration
		refused           bool
		ended             bool // so has the context
	}{
		"no deadline":             {0, 2 * time.Second, never, never, false, false},
		"in time":                 {10 * time.Second, 2 * time.Second, 8*time.Second - 1, 8*time.Second - 1, false, false},
		"too late":                {10 * time.Second, 2 * time.Second, 8*time.Second + 1, 8 * time.Second, true, false},
		"less than the timeout":   {time.Second, 2 * time.Second, never, time.Second / 4, true, false},
		"just the timeout":        {2 * time.Second, 2 * time.Second, never, time.Second / 2, true, false},
		"a quarter, in time":      {2 * time.Second, 2 * time.Second, time.Second/2 - 1, time.Second/2 - 1, false, false},
		"three quarters":          {4 * time.Second, 3 * time.Second, never, time.Second, true, false},
		"more than that":          {4 * time.Second, 3500 * time.Millisecond, never, time.Second, true, false},
		"less than that":          {4 * time.Second, 2500 * time.Millisecond, never, 1500 * time.Millisecond, true, false},
		"longest timeout":         {time.Minute, math.MaxInt64, never, 15 * time.Second, true, false},
		"negative, in time":       {10 * time.Second, -time.Second, 10*time.Second - 1, 10*time.Second - 1, false, false},
		"negative, too late":      {10 * time.Second, -time.Second, never, 10 * time.Second, true, true},
		"most negative, too late": {10 * time.Second, math.MinInt64, never, 10 * time.Second, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.deadline > 0 {
					limited, cancel := context.WithTimeoutCause(ctx, test.deadline, errCause)
					defer cancel()
					ctx = limited
				}
				line := newLine(t, backoff.NewSlots(1))
				line.call(ctx, test.timeout)
				call := line.call(ctx, test.timeout)
				line.release(test.release)
				line.wait()

				require.Equal(t, test.waited, call.at)
				require.Equal(t, test.refused, errors.Is(call.err, backoff.ErrNoSlot), "%v", call.err)
				require.Equal(t, test.ended, errors.Is(call.err, context.DeadlineExceeded), "%v", call.err)
				require.Equal(t, test.ended, errors.Is(call.err, errCause), "%v", call.err)
				if test.refused {
					require.Zero(t, line.slots.InUse())
					return
				}
				require.NoError(t, call.err)
				require.Equal(t, 1, line.slots.InUse())
			})
		})
	}
}

func TestSlotsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		line := newLine(t, backoff.NewSlots(1))
		line.call(ctx, time.Second)
		for n := range 3 {
			require.Equal(t, n, line.slots.Waiting())
			line.call(ctx, time.Second)
		}
		require.Equal(t, 3, line.slots.Waiting())
		line.releases <- struct{}{}
		synctest.Wait()
		require.Equal(t, 2, line.slots.Waiting())
		cancel()
		line.wait()
		require.Zero(t, line.slots.Waiting())
		require.Equal(t, 1, line.slots.InUse())
	})
}

// A free slot costs no wait, so the deadline does not matter.
func TestSlotsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		call := newLine(t, backoff.NewSlots(1)).call(ctx, time.Hour)
		require.Equal(t, &outcome{}, call)
	})
}

// overdue is a context whose deadline has long passed, and which never ends.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Time{}, true }

func TestSlotsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(1))
		line.call(t.Context(), 1)
		for _, timeout := range []time.Duration{1, math.MaxInt64} {
			call := line.call(overdue{t.Context()}, timeout)
			line.wait()
			require.ErrorIs(t, call.err, backoff.ErrNoSlot)
			require.Zero(t, call.at)
		}
	})
}

func TestSlotsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		line := newLine(t, backoff.NewSlots(1))
		line.call(t.Context(), time.Second)
		call := line.call(ctx, time.Second)
		time.Sleep(time.Hour)
		cancel(errCause)
		line.wait()

		require.Equal(t, time.Hour, call.at)
		require.EqualError(t, call.err, "context canceled: shutting down: no slot for the call")
		require.ErrorIs(t, call.err, backoff.ErrNoSlot)
		require.ErrorIs(t, call.err, context.Canceled)
		require.ErrorIs(t, call.err, errCause)
		require.Equal(t, 1, line.slots.InUse())
	})
}

// Those that leave the line do not change the order of the others.
func TestSlotsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(1))
		line.call(t.Context(), time.Second)
		var stay, leave []*outcome
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			leave = append(leave, line.call(ctx, time.Second))
			stay = append(stay, line.call(t.Context(), time.Second))
		}
		for n := range 4 {
			line.release(time.Duration(n+1) * time.Hour)
		}
		line.wait()

		for n := range 3 {
			require.ErrorIs(t, leave[n].err, backoff.ErrNoSlot)
			require.Equal(t, 59*time.Second, leave[n].at)
			require.Equal(t, &outcome{nil, time.Duration(n+1) * time.Hour}, stay[n])
		}
		require.Zero(t, line.slots.InUse())
	})
}

// A call whose context panics while it waits leaves the line, too.
func TestSlotsLeavePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		line := newLine(t, backoff.NewSlots(1))
		line.call(ctx, time.Second)
		r := backoff.Retrier{AttemptTimeout: time.Second, Slots: line.slots}
		panics := strange{ctx, func() <-chan struct{} { panic("boom") }, ctx.Err, ctx.Deadline}
		require.PanicsWithValue(t, "boom", func() { _ = r.Do(panics, func(context.Context) error { return nil }) })
		require.Zero(t, line.slots.Waiting())
		require.Equal(t, 1, line.slots.InUse())
	})
}

// endsUnseen is a context that ends after its error was asked for once, and has no channel to say so.
type endsUnseen struct {
	context.Context
	asked *int
}

func (e endsUnseen) Err() error {
	*e.asked++
	if *e.asked == 1 {
		return nil
	}
	return context.Canceled
}

// A slot arrives for a call whose context has ended meanwhile: the call does not take it, and the next one gets it.
func TestSlotsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(1))
		line.call(t.Context(), time.Second)
		ended := line.call(endsUnseen{context.Background(), new(int)}, time.Second)
		next := line.call(t.Context(), time.Second)
		last := line.call(endsUnseen{context.Background(), new(int)}, time.Second)
		line.release(time.Minute)
		line.release(time.Hour)
		line.wait()

		require.ErrorIs(t, ended.err, backoff.ErrNoSlot)
		require.ErrorIs(t, ended.err, context.Canceled)
		require.Equal(t, &outcome{nil, time.Minute}, next)
		require.ErrorIs(t, last.err, context.Canceled)
		require.Zero(t, line.slots.InUse())
	})
}

// A slot becomes free between the look for one and the place in line.
func TestSlotsFreeMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(1))
		line.call(t.Context(), time.Second)
		asked := 0
		ctx := t.Context()
		call := line.call(strange{ctx, ctx.Done, ctx.Err, func() (time.Time, bool) {
			if asked++; asked == 3 { // by what waits in line
				line.releases <- struct{}{}
				time.Sleep(time.Millisecond)
			}
			return time.Time{}, false
		}}, time.Second)
		time.Sleep(time.Second)
		line.wait()
		require.Equal(t, &outcome{at: time.Millisecond}, call)
	})
}

// The first call leaves, for its deadline or its context, in the moment in which a slot arrives for it. Whoever is
// faster, the slot is not lost.
func TestSlotsLeaveRace(t *testing.T) {
	for name, leaves := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute+time.Second)
		},
		"context": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(time.Minute, cancel)
			return ctx, func() { timer.Stop(); cancel() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := leaves(t.Context())
					defer cancel()
					line := newLine(t, backoff.NewSlots(1))
					line.call(ctx, time.Second)
					first := line.call(ctx, time.Second)
					second := line.call(t.Context(), time.Second)
					line.release(time.Minute)
					synctest.Wait()
					time.Sleep(time.Minute)
					synctest.Wait()

					if first.err == nil { // it has its slot, and the second call waits for that
						line.release(0)
					}
					line.wait()
					require.Equal(t, &outcome{nil, time.Minute}, second)
					require.Equal(t, 1, line.slots.InUse())
				})
			}
		})
	}
}

// packageSlots are in a package variable, as those of programs are.
var packageSlots = backoff.NewSlots(1)

// The slots of a package variable work in one bubble after the other.
func TestSlotsPackageVariable(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			line := newLine(t, packageSlots)
			line.call(ctx, time.Second)
			late := line.call(ctx, time.Second)
			served := line.call(t.Context(), time.Second)
			line.release(time.Hour)
			line.release(2 * time.Hour)
			line.wait()

			require.ErrorIs(t, late.err, backoff.ErrNoSlot)
			require.Equal(t, 59*time.Second, late.at)
			require.Equal(t, &outcome{nil, time.Hour}, served)
			require.Zero(t, line.slots.InUse())
		})
	}
}

// A nil Slots has a slot for every call.
func TestSlotsNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, nil)
		for range 100 {
			require.Equal(t, &outcome{}, line.call(t.Context(), time.Second))
		}
		require.Zero(t, line.slots.InUse())
		require.Zero(t, line.slots.Waiting())
	})
}

func TestSlotsBadInput(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt} {
		require.PanicsWithValue(t, "backoff: NewSlots called with less than one slot", func() { backoff.NewSlots(n) })
	}
}

// A number of slots is first come, first served, however near the deadlines are.
func TestSlotsFirstCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(t, backoff.NewSlots(1))
		line.call(t.Context(), time.Second)
		var calls []*outcome
		for n := range 8 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(8-n)*time.Hour)
			defer cancel()
			calls = append(calls, line.call(ctx, time.Second))
		}
		for n := range calls {
			line.release(time.Duration(n+1) * time.Minute)
		}
		line.wait()

		for n, call := range calls {
			require.Equal(t, &outcome{at: time.Duration(n+1) * time.Minute}, call, "call %d", n)
		}
	})
}

// Slots that size themselves serve the call that can wait for the shortest time, and every fourth time the one that came
// first. Those without a deadline have that turn alone.
func TestSlotsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fallen(t)
		for n := range 6 { // all slots are in use, and become free one after the other, from 410 ms on
			launch(t, r, 1, takes(time.Duration(n+41)*10*time.Millisecond, nil))
		}
		time.Sleep(400 * time.Millisecond)

		begun := make(chan string, 8)
		var calls sync.WaitGroup
		stand := func(name string, deadline time.Duration) {
			calls.Go(func() {
				ctx := t.Context()
				if deadline > 0 {
					limited, cancel := context.WithTimeout(ctx, deadline)
					defer cancel()
					ctx = limited
				}
				require.NoError(t, r.Do(ctx, func(context.Context) error {
					begun <- name
					time.Sleep(60 * time.Millisecond)
					return nil
				}))
			})
			synctest.Wait()
		}
		stand("years", 10*365*24*time.Hour)
		stand("endless", 0)
		stand("short", 900*time.Millisecond)
		stand("hour 1", time.Hour)
		stand("hour 2", time.Hour+time.Second)
		stand("minutes 1", 3*time.Minute)
		stand("minutes 2", 3*time.Minute+time.Second)
		stand("minutes 3", 3*time.Minute)
		require.Equal(t, 8, r.Slots.Waiting())
		calls.Wait()
		for _, name := range []string{"short", "minutes 1", "minutes 2", "years", "minutes 3", "hour 1", "hour 2", "endless"} {
			require.Equal(t, name, <-begun)
		}
	})
}

// Before another attempt that has no whole timeout left, a call does not go before the others.
func TestSlotsPatienceLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fallen(t)
		launch(t, r, 1, takes(1400*time.Millisecond, nil))
		launch(t, r, 4, takes(10*time.Second, nil))

		begun := make(chan string, 4)
		var calls sync.WaitGroup
		begin := func(name string, r backoff.Retrier, deadline time.Duration, op func(context.Context) error) {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				_ = r.Do(ctx, func(ctx context.Context) error {
					begun <- name
					return op(ctx)
				})
			})
			synctest.Wait()
		}
		again := *r
		again.MaxAttempts = 2
		again.Policy = every(300 * time.Millisecond)
		begin("again", again, 2200*time.Millisecond, hang)
		begin("first in line", *r, time.Hour, takes(10*time.Second, nil)) // from one second on, when again gives back its slot
		time.Sleep(1350 * time.Millisecond)
		begin("last", *r, time.Hour, takes(10*time.Second, nil))
		require.Equal(t, 2, r.Slots.Waiting())
		calls.Wait()
		for _, name := range []string{"again", "first in line", "last"} {
			require.Equal(t, name, <-begun)
		}
	})
}

// go vet reports a Slots that is copied.
func TestSlotsCopylocks(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("go.mod", "module copies\n\ngo 1.23\n\nrequire example.com/backoff v1.0.0\n\nreplace example.com/backoff => "+root+"\n")
	write("main.go", `package main

import "example.com/backoff"

func main() {
	var own backoff.Slots
	other := own
	println(other.InUse())
}
`)
	vet := exec.Command("go", "vet", "-copylocks", ".")
	vet.Dir = folder
	vet.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := vet.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "assignment copies lock value to other: example.com/backoff.Slots")
}

// How many calls may be in progress, for a metric.
func TestSlotsLimit(t *testing.T) {
	var none *backoff.Slots
	require.Equal(t, math.MaxInt, none.Limit())
	require.Equal(t, math.MaxInt, new(backoff.Slots).Limit())
	require.Equal(t, 7, backoff.NewSlots(7).Limit())
}
