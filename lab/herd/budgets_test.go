package main

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// made returns how many retries a rule lets be made at once.
func made(r rule) (n int) {
	for r.retry() {
		n++
	}
	return n
}

func TestGRPC(t *testing.T) {
	r := grpc(nil)
	for range 4 {
		r.ended(false, errFailed)
		require.True(t, r.retry())
	}
	r.ended(false, errFailed)
	require.False(t, r.retry(), "half of the tokens are left")
}

func TestFinagle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := finagle(nil)
		require.Equal(t, 100, made(r), "ten a second for ten seconds")
		for range 50 {
			r.send(false)
		}
		require.Equal(t, 10, made(r), "a fifth of the operations")
		time.Sleep(10 * time.Second)
		require.Equal(t, 100, made(r), "all is forgotten")
	})
}

func TestEnvoy(t *testing.T) {
	r := envoy(nil)
	for range 10 {
		r.send(false)
	}
	require.Equal(t, 3, made(r))
	for range 10 {
		r.send(false)
	}
	require.Equal(t, 1, made(r), "a fifth of the active ones")
	r.ended(true, errFailed)
	require.Zero(t, made(r), "there are 19, and three retries")
}

func TestSRE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sre(random(1))
		for range 100 {
			require.True(t, r.send(false))
			r.ended(false, nil)
		}
		dropped := 0
		for range 1000 {
			if r.send(false) {
				r.ended(false, context.DeadlineExceeded)
			} else {
				dropped++
			}
		}
		require.InDelta(t, 560, dropped, 50, "of each n requests after which 100 were accepted, (n − 200) / n at random")
	})
}

// A rule is told of each attempt, makes no more than three retries, and may drop an attempt.
func TestRuled(t *testing.T) {
	p := simple(time.Millisecond)
	p.poison = 1
	for name, row := range map[string]struct {
		rule            rule
		requests, asked int
	}{
		"all":  {rule{}, 4, 3},
		"none": {rule{retry: func() bool { return false }}, 1, 1},
		"drop": {rule{send: func(retrying bool) bool { return !retrying }}, 1, 1},
	} {
		asked := 0
		r := row.rule
		next := r.retry
		r.retry = func() bool {
			asked++
			return next == nil || next()
		}
		p.atOnce = 1
		p.after = time.Minute
		o := play(way{process: ruled(func(*rand.Rand) rule { return r })}, p)
		require.Equal(t, row.requests, o.requests.total(), name)
		require.Equal(t, row.asked, asked, name)
	}
}

// A service recovers from a blip as early with a budget as without retries, where fixed sizes keep it down.
func TestBudgets(t *testing.T) {
	manyCalls(t)
	p := blip(100)
	p.after = time.Minute
	lasting := failures(0.1)
	lasting.after = 20 * time.Second
	for _, s := range budgetWays(p) {
		after := play(s, p).recovered()
		switch s.name {
		case noRetries, sizesItself, oneRetry, grpcRule:
			require.Less(t, after, 55.0, s.name)
		default:
			require.Greater(t, after, 59.0, s.name)
		}

		failing := play(s, lasting).lostShare()
		switch s.name {
		case noRetries, oneRetry, grpcRule:
			require.Greater(t, failing, 2.0, s.name)
		default:
			require.Less(t, failing, 2.0, s.name)
		}
	}
}
