package main

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// tried makes so many calls, a millisecond apart, with a deadline of 5.5 s, to a service that never answers. It returns
// when requests were sent.
func tried(process func(plan) caller, p plan, calls int) (sent []time.Duration) {
	synctest.Test(new(testing.T), func(*testing.T) {
		w := newWorld(way{process: process}, p)
		ctx, cancel := context.WithTimeout(context.Background(), 5500*time.Millisecond)
		defer cancel()
		for range calls {
			c := &call{world: w, sent: -1, hangs: true, random: random(1)}
			w.wait.Go(func() {
				_ = w.fleet[0](ctx, c)
				w.count.Lock()
				defer w.count.Unlock()
				if c.sent >= 0 {
					sent = append(sent, c.sent)
				}
			})
			time.Sleep(time.Millisecond)
		}
		w.wait.Wait()
	})
	return sent
}

// Of three calls with one place, or one slot, each way sends the first requests when it should.
func TestPlaces(t *testing.T) {
	p := simple(500 * time.Millisecond) // half of what it can do within a timeout is one
	second, third := time.Second, 2*time.Second
	for name, row := range map[string]struct {
		process func(plan) caller
		want    []time.Duration
	}{
		"no bound":       {once, []time.Duration{0, time.Millisecond, 2 * time.Millisecond}},
		"each attempt":   {placed(stop, false), []time.Duration{0, second}},
		"inside":         {placed(stop, true), []time.Duration{0, second, second + time.Millisecond}},
		"semaphore":      {semaphored(stop), []time.Duration{0, second, third}},
		"Retrier, half":  {retrier(0.5, stop, false), []time.Duration{0, second, third}},
		"Retrier, third": {retrier(1./3, stop, true), []time.Duration{0, second, third}},
	} {
		require.Equal(t, row.want, tried(row.process, p, 3), name)
	}
}

// A semaphore starts a call with whatever is left of its deadline, a Retrier only with a whole timeout.
func TestLateSlots(t *testing.T) {
	p := simple(500 * time.Millisecond)
	s := time.Second
	require.Equal(t, []time.Duration{0, s, 2 * s, 3 * s, 4 * s, 5 * s}, tried(semaphored(stop), p, 9))
	require.Equal(t, []time.Duration{0, s, 2 * s, 3 * s, 4 * s}, tried(retrier(0.5, stop, false), p, 9))
}

// The wait for a place takes from the time that an attempt has for its answer, if the timeout is around both.
func TestPlaceInside(t *testing.T) {
	for inside, want := range map[bool]time.Duration{false: 1900 * time.Millisecond, true: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(way{process: placed(stop, inside)}, simple(500*time.Millisecond))
			start := time.Now()
			first, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
			defer cancel()
			for _, ctx := range []context.Context{first, t.Context()} {
				w.wait.Go(func() { _ = w.fleet[0](ctx, &call{world: w, hangs: true, random: random(1)}) })
				synctest.Wait()
			}
			w.wait.Wait()
			require.Equal(t, want, time.Since(start))
		})
	}
}

// Slots are those of all processes, and their shares of what the service can do within a timeout.
func TestSlotCounts(t *testing.T) {
	for args, want := range map[string]int{
		"":                            6,
		"-rate 100 -timeout 4s":       40,
		"-guess 4":                    24,
		"-processes 100":              1,
		"-processes 20":               1,
		"-processes 3 -timeout 500ms": 5,
	} {
		p, _ := settings(t, args).program(trouble{})
		require.Equal(t, want, p.slots(0.5), args)
	}
}

// Behind a service in front, attempts have the timeout of the service behind, and the deadline of those in front.
func TestFront(t *testing.T) {
	p := simple(500 * time.Millisecond)
	p.front = 1500 * time.Millisecond
	p.seed = 1
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(way{process: once, inner: plain(forever)}, p)
		start := time.Now()
		c := &call{world: w, sent: -1, hangs: true, random: random(1)}
		require.ErrorIs(t, w.fleet[0](t.Context(), c), context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(start), p.front)
	})
}
