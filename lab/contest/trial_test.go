package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// small is a plan for a process with 20 calls a second, with a trouble of 5 s.
func small(s scene) plan {
	s.procs, s.rate, s.load, s.length = 1, 20, 0.5, 5*time.Second
	return plan{scene: s, seed: 1, work: 20 * time.Millisecond, before: 5 * time.Second, after: 5 * time.Second}
}

// settingOf returns a setting of a way, the best one for an empty name.
func settingOf(t *testing.T, name, wanted string) setting {
	t.Helper()
	for _, w := range allWays() {
		for _, s := range w.settings {
			if w.name == name && (s.name == wanted || wanted == "" && s.name == w.best) {
				return s
			}
		}
	}
	require.Fail(t, "no such setting", "%s %s", name, wanted)
	return setting{}
}

// Calls count that begin from the trouble on, and until so long after it.
func TestCounting(t *testing.T) {
	p := small(scene{surge: 3})
	p.load = 0.2
	var mu sync.Mutex
	var inTrouble, afterwards int
	got := play(func(process) caller {
		start := time.Now()
		return func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			switch at := time.Since(start); {
			case at < 5*time.Second || at >= 15*time.Second:
			case at < 10*time.Second:
				inTrouble++
			default:
				afterwards++
			}
			return errLate
		}
	}, p)
	require.Equal(t, inTrouble+afterwards, got.begun)
	require.Equal(t, got.begun, got.lost)
	require.Zero(t, got.requests)
	require.InDelta(t, 300, inTrouble, 60)
	require.InDelta(t, 100, afterwards, 35)
	require.InDelta(t, 100, got.percent(), 0)
	require.InDelta(t, float64(got.lost)/20, got.seconds(), 1e-9)

	other := play(settingOf(t, "none", "").set, p)
	require.Equal(t, got.begun, other.begun, "all ways get the same calls")
	require.Equal(t, other.begun, other.requests)
	require.Zero(t, other.lost)
	require.InDelta(t, 1, other.attempts(), 0)
}

// In a crowd, the calls from the trouble on go to other processes too. Who sets numbers knows the usual calls, and of a
// surge that is known.
func TestProcesses(t *testing.T) {
	p := small(scene{crowd: 4, surge: 2, known: true})
	p.procs = 2
	var early, late [8]int
	var mu sync.Mutex
	made := 0
	play(func(p process) caller {
		require.InDelta(t, 20, p.rate, 0)
		require.Equal(t, 15, p.right())
		start, id := time.Now(), made
		made++
		return func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if time.Since(start) < 5*time.Second {
				early[id]++
			} else {
				late[id]++
			}
			return nil
		}
	}, p)
	require.Equal(t, 8, made)
	for id := range made {
		require.Equal(t, id < 2, early[id] > 0, id)
		require.Positive(t, late[id], id)
	}
}

// A call ends at its deadline, an attempt at its timeout.
func TestDeadlines(t *testing.T) {
	p := small(scene{begin: hang(1), end: hang(0)})
	p.rate = 1
	var late atomic.Int64
	got := play(func(p process) caller {
		return func(ctx context.Context) error {
			start := time.Now()
			err := p.once(ctx)
			if err != nil && time.Since(start) == timeout {
				late.Add(1)
			}
			<-ctx.Done()
			if time.Since(start) != deadline {
				late.Add(-1)
			}
			return err
		}
	}, p)
	require.Positive(t, got.lost)
	require.EqualValues(t, got.lost, late.Load())
}

// Every setting of every way makes one attempt where nothing is wrong, and loses nothing.
func TestHealthy(t *testing.T) {
	eachSetting(t, func(t *testing.T, _ way, s setting) {
		got := play(s.set, small(scene{}))
		require.Greater(t, got.begun, 150)
		require.Zero(t, got.lost)
		require.InDelta(t, 1, got.attempts(), 0.02)
	})
}

// Where a tenth of the attempts are refused, every setting retries, but for no retries.
func TestRetries(t *testing.T) {
	p := small(scene{begin: refuse(0.1), end: refuse(0)})
	none := play(settingOf(t, "none", "").set, p)
	require.InDelta(t, 5, none.percent(), 4)
	require.InDelta(t, 1, none.attempts(), 0.02)
	eachSetting(t, func(t *testing.T, w way, s setting) {
		if w.name == "none" {
			return
		}
		got := play(s.set, p)
		require.Greater(t, got.attempts(), 1.01)
		require.Less(t, got.lost, none.lost)
	})
}

// While the service hangs, what protects it makes far fewer attempts than three retries do. A setting whose protection is
// not in the way of its attempts would make as many.
func TestOutage(t *testing.T) {
	p := small(scene{begin: all(stop), end: all(goOn)})
	p.length = 10 * time.Second
	three := play(settingOf(t, "three", "").set, p)
	require.Greater(t, three.attempts(), 2.0)
	eachSetting(t, func(t *testing.T, w way, s setting) {
		if slices.Contains([]string{"three", "v7", "failsafe", "retryablehttp"}, w.name) {
			t.Skip("it does not protect the service")
		}
		require.Less(t, play(s.set, p).attempts(), 0.75*three.attempts())
	})
}

// AWS's adaptive mode slows down if timeouts count as throttling, and not by default.
func TestAdaptive(t *testing.T) {
	p := small(scene{begin: all(stop), end: all(goOn)})
	usual := play(settingOf(t, "aws-adaptive", "default").set, p)
	slower := play(settingOf(t, "aws-adaptive", "late").set, p)
	require.Less(t, slower.requests, usual.requests/2)
}

// eachSetting runs a test of every setting of every way.
func eachSetting(t *testing.T, test func(*testing.T, way, setting)) {
	t.Helper()
	for _, w := range allWays() {
		for _, s := range w.settings {
			t.Run(w.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				test(t, w, s)
			})
		}
	}
}
