package main

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// simple is a plan of a service that works on one request at a time, for so long.
func simple(work time.Duration) plan {
	return plan{
		processes: 1, guess: 1, rate: 1 / work.Seconds(), servers: 1, times: "constant", queue: fifo,
		timeout: time.Second, from: time.Hour, after: time.Hour,
	}
}

// outcomes returns what the programs come to in the first trouble, by the names of the ways.
func outcomes(t *testing.T, args string) map[string]*outcome {
	t.Helper()
	all := map[string]*outcome{}
	for _, one := range runPrograms(settings(t, args)).trials {
		if all[one.way.name] == nil {
			all[one.way.name] = one.outcomes[0]
		}
	}
	return all
}

// A call that has not ended when all is cut off is lost, whatever would have come of it.
func TestUnended(t *testing.T) {
	p := simple(90 * time.Second)
	p.timeout = time.Hour
	p.from = 0
	p.after = time.Minute
	p.atOnce = 2
	o := play(way{process: once}, p)
	require.Equal(t, 2, o.begun.total())
	require.Equal(t, 1, o.lost())
}

func TestRecovery(t *testing.T) {
	h := &history{}
	for second := range 340 {
		h.begun.add(second, 10)
		if second < 30 || second >= 47 {
			h.good.add(second, 10)
		}
	}
	require.Equal(t, 7.0, h.recovery(40*time.Second, 340*time.Second, 5))
	h.good[339] = 0
	require.True(t, math.IsInf(h.recovery(40*time.Second, 340*time.Second, 5), 1))
}

// Each shape begins the calls that it says.
func TestShapes(t *testing.T) {
	for shape, want := range map[string]int{"handler": 1440, "events": 1440, "tool": 1440, "pool": 1440, "batch": 30, "devices": 30} {
		args := "-trouble 1s -after 5s -rate 50 -load 0.8 -shape " + shape
		if shape == "batch" || shape == "devices" {
			args += " -size 30"
		}
		for name, o := range outcomes(t, args) {
			if shape != "pool" || name == noRetries {
				require.InDelta(t, want, o.begun.total(), float64(want)/5, "%s: %s", shape, name)
			}
			require.Equal(t, shape == "handler", o.deadline > 0, shape)
		}
	}
}

// The requests of other programs are counted apart. They are lost if the service is down.
func TestNeighbours(t *testing.T) {
	o := outcomes(t, "-shape devices -size 10 -trouble 10s -after 20s -load 0.5")[longWaits]
	require.InDelta(t, 60*60*0.5, o.others.total(), 150)
	require.Less(t, o.requests.total(), 200)
	require.Greater(t, o.othersShare(o.from, o.back()), 85.0)
}

// Calls that hang, or that no attempt makes succeed, are not counted.
func TestUncounted(t *testing.T) {
	all := outcomes(t, "-trouble hang:50% -after 1m -only no -load 0.3")
	require.InDelta(t, 18*(30+30), all[noRetries].begun.total(), 200)
	require.Zero(t, all[noRetries].lost())

	all = outcomes(t, "-trouble none -poison 0.5 -after 1m -only no -load 0.3")
	require.InDelta(t, 18*(15+30), all[noRetries].begun.total(), 200)
	require.Zero(t, all[noRetries].lost())
}

// A deadline is that of the call, from its arrival.
func TestDeadline(t *testing.T) {
	all := outcomes(t, "-trouble 60s -after 10s -deadline 2500ms")
	for name, o := range all {
		require.Greater(t, o.lost(), 0, name)
		require.LessOrEqual(t, o.slowest, 2500*time.Millisecond, name)
	}
}

// Several servers share the capacity: each is slower, and as many requests are done.
func TestServers(t *testing.T) {
	for servers, want := range map[int][]time.Duration{1: {600, 1100, 1600}, 2: {1100, 1100, 2100}} {
		p := simple(500 * time.Millisecond)
		p.servers = servers
		p.answer = 100 * time.Millisecond
		s := newService(p, time.Now())
		for _, took := range want {
			got, err := s.inOrder(&call{}, 0)
			require.NoError(t, err)
			require.Equal(t, took*time.Millisecond, got)
		}
	}
}

// A service without a queue spends its capacity on answers and refusals.
func TestRefusal(t *testing.T) {
	served := func(rate int, refusal float64) (good int) {
		p := simple(10 * time.Millisecond)
		p.refusal = refusal
		s := newService(p, time.Now())
		c := &call{random: random(1)}
		for i := range 20 * rate {
			if _, err := s.immediately(c, seconds(float64(i)/float64(rate))); err == nil && i >= 10*rate {
				good++
			}
		}
		return good / 10
	}
	require.InDelta(t, 100, served(100, 0.1), 1)
	require.InDelta(t, 100, served(600, 0), 2)
	require.InDelta(t, 44, served(600, 0.1), 2, "a refusal is a tenth of an answer: 44 + 556/10 = 100")
	require.InDelta(t, 0, served(1000, 0.1), 2)
}

// A request whose client has left is worked on, or never ends.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simple(3 * time.Second)
		s := newService(p, time.Now())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.serve(ctx, &call{}), context.DeadlineExceeded)

		start := time.Now()
		require.NoError(t, s.serve(t.Context(), &call{}))
		require.Equal(t, 5*time.Second, time.Since(start))

		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.ErrorIs(t, s.serve(ctx, &call{hangs: true}), context.DeadlineExceeded)
	})
}
