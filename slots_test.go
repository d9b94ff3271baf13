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

// acquired is the outcome of a call of Acquire.
type acquired struct {
	err error
	at  time.Duration // since the line began
}

// line is a line of calls that wait for the slots, in a bubble.
type line struct {
	slots *backoff.Slots
	start time.Time
	group sync.WaitGroup
}

func newLine(slots *backoff.Slots) *line { return &line{slots: slots, start: time.Now()} }

// acquire waits for a slot in a goroutine. The outcome may be read after wait.
func (l *line) acquire(ctx context.Context, timeout time.Duration) *acquired {
	outcome := new(acquired)
	l.group.Go(func() {
		outcome.err = l.slots.Acquire(ctx, timeout)
		outcome.at = time.Since(l.start)
	})
	synctest.Wait()
	return outcome
}

// release returns a slot after d.
func (l *line) release(d time.Duration) {
	l.group.Go(func() {
		time.Sleep(d)
		l.slots.Release()
	})
}

func (l *line) wait() { l.group.Wait() }

func TestSlots(t *testing.T) {
	slots := backoff.NewSlots(3)
	for n := range 3 {
		require.Equal(t, n, slots.InUse())
		require.NoError(t, slots.Acquire(context.Background(), time.Second))
	}
	for n := range 3 {
		require.Equal(t, 3-n, slots.InUse())
		slots.Release()
	}
	require.Zero(t, slots.InUse())
}

func TestSlotsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(backoff.NewSlots(2))
		var calls []*acquired
		for range 7 {
			calls = append(calls, line.acquire(t.Context(), time.Second))
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
		"no timeout, in time":     {10 * time.Second, 0, 10*time.Second - 1, 10*time.Second - 1, false, false},
		"no timeout, too late":    {10 * time.Second, 0, never, 10 * time.Second, true, true},
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
				line := newLine(backoff.NewSlots(1))
				require.NoError(t, line.slots.Acquire(ctx, test.timeout))
				call := line.acquire(ctx, test.timeout)
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
		line := newLine(backoff.NewSlots(1))
		require.NoError(t, line.slots.Acquire(ctx, time.Second))
		for n := range 3 {
			require.Equal(t, n, line.slots.Waiting())
			line.acquire(ctx, time.Second)
		}
		require.Equal(t, 3, line.slots.Waiting())
		line.slots.Release()
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, backoff.NewSlots(1).Acquire(ctx, time.Hour))
}

// overdue is a context whose deadline has long passed, and which never ends.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Time{}, true }

func TestSlotsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(backoff.NewSlots(1))
		require.NoError(t, line.slots.Acquire(t.Context(), 1))
		for _, timeout := range []time.Duration{1, math.MaxInt64} {
			call := line.acquire(overdue{t.Context()}, timeout)
			line.wait()
			require.ErrorIs(t, call.err, backoff.ErrNoSlot)
			require.Zero(t, call.at)
		}
	})
}

func TestSlotsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		line := newLine(backoff.NewSlots(1))
		require.NoError(t, line.slots.Acquire(ctx, time.Second))
		call := line.acquire(ctx, time.Second)
		time.Sleep(time.Hour)
		cancel(errCause)
		line.wait()
		line.slots.Release()

		require.Equal(t, time.Hour, call.at)
		late := line.slots.Acquire(ctx, time.Second)
		for _, err := range []error{call.err, late} {
			require.EqualError(t, err, "context canceled: shutting down: no slot for the call")
			require.ErrorIs(t, err, backoff.ErrNoSlot)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errCause)
		}
		require.Zero(t, line.slots.InUse(), "a context that has ended gets no slot, though one is free")
	})
}

// Those that leave the line do not change the order of the others.
func TestSlotsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newLine(backoff.NewSlots(1))
		require.NoError(t, line.slots.Acquire(t.Context(), time.Second))
		var stay, leave []*acquired
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			leave = append(leave, line.acquire(ctx, time.Second))
			stay = append(stay, line.acquire(t.Context(), time.Second))
		}
		for n := range 4 {
			line.release(time.Duration(n+1) * time.Hour)
		}
		line.wait()

		for n := range 3 {
			require.ErrorIs(t, leave[n].err, backoff.ErrNoSlot)
			require.Equal(t, 59*time.Second, leave[n].at)
			require.Equal(t, &acquired{nil, time.Duration(n+1) * time.Hour}, stay[n])
		}
		require.Zero(t, line.slots.InUse())
	})
}

// A call whose context panics while it waits leaves the line, too.
func TestSlotsLeavePanic(t *testing.T) {
	ctx := context.Background()
	slots := backoff.NewSlots(1)
	require.NoError(t, slots.Acquire(ctx, time.Second))
	panics := strange{ctx, func() <-chan struct{} { panic("boom") }, ctx.Err, ctx.Deadline}
	require.PanicsWithValue(t, "boom", func() { _ = slots.Acquire(panics, time.Second) })
	require.Zero(t, slots.Waiting())
	require.Equal(t, 1, slots.InUse())
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
		line := newLine(backoff.NewSlots(1))
		require.NoError(t, line.slots.Acquire(t.Context(), time.Second))
		ended := line.acquire(endsUnseen{context.Background(), new(int)}, time.Second)
		next := line.acquire(t.Context(), time.Second)
		last := line.acquire(endsUnseen{context.Background(), new(int)}, time.Second)
		line.release(time.Minute)
		line.release(time.Hour)
		line.wait()

		require.ErrorIs(t, ended.err, backoff.ErrNoSlot)
		require.ErrorIs(t, ended.err, context.Canceled)
		require.Equal(t, &acquired{nil, time.Minute}, next)
		require.ErrorIs(t, last.err, context.Canceled)
		require.Zero(t, line.slots.InUse())
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
					line := newLine(backoff.NewSlots(1))
					require.NoError(t, line.slots.Acquire(ctx, time.Second))
					first := line.acquire(ctx, time.Second)
					second := line.acquire(t.Context(), time.Second)
					line.release(time.Minute)
					synctest.Wait()
					time.Sleep(time.Minute)
					synctest.Wait()

					if first.err == nil { // it has its slot, and the second call waits for that
						line.slots.Release()
					}
					line.wait()
					require.Equal(t, &acquired{nil, time.Minute}, second)
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
			line := newLine(packageSlots)
			require.NoError(t, line.slots.Acquire(ctx, time.Second))
			late := line.acquire(ctx, time.Second)
			served := line.acquire(t.Context(), time.Second)
			line.release(time.Hour)
			line.release(2 * time.Hour)
			line.wait()

			require.ErrorIs(t, late.err, backoff.ErrNoSlot)
			require.Equal(t, 59*time.Second, late.at)
			require.Equal(t, &acquired{nil, time.Hour}, served)
			require.Zero(t, line.slots.InUse())
		})
	}
}

// A nil Slots has a slot for every call, also for one whose context has ended.
func TestSlotsNil(t *testing.T) {
	var slots *backoff.Slots
	for range 100 {
		require.NoError(t, slots.Acquire(context.Background(), time.Second))
	}
	require.NoError(t, slots.Acquire(cancelled(), time.Second))
	require.Zero(t, slots.InUse())
	require.Zero(t, slots.Waiting())
	slots.Release()
}

func TestSlotsBadInput(t *testing.T) {
	ctx := context.Background()
	var noContext context.Context
	var none *backoff.Slots
	var zero backoff.Slots
	released := backoff.NewSlots(1)
	require.NoError(t, released.Acquire(ctx, 1))
	released.Release()
	for _, test := range []struct {
		text string
		call func()
	}{
		{"backoff: NewSlots called with less than one slot", func() { backoff.NewSlots(0) }},
		{"backoff: NewSlots called with less than one slot", func() { backoff.NewSlots(math.MinInt) }},
		{"backoff: Acquire called with a nil context", func() { _ = released.Acquire(noContext, 1) }},
		{"backoff: Acquire called with a nil context", func() { _ = none.Acquire(noContext, 1) }},
		{"backoff: Acquire called on a zero Slots; use NewSlots, or a Retrier", func() { _ = zero.Acquire(ctx, 1) }},
		{"backoff: Release called on a zero Slots; use NewSlots, or a Retrier", zero.Release},
		{"backoff: Release called without Acquire", released.Release},
	} {
		require.PanicsWithValue(t, test.text, test.call)
	}
	require.Zero(t, zero.InUse())
	require.NoError(t, released.Acquire(ctx, 1), "a panic leaves no lock behind")
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
