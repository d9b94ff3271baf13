package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// outcomes returns what the programs come to in the first trouble, by the names of the strategies.
func outcomes(t *testing.T, args string) map[string]*outcome {
	t.Helper()
	return named(runPrograms(settings(t, "-scenario programs "+args)).trials)
}

// Each shape begins the operations that it says.
func TestShapes(t *testing.T) {
	for shape, want := range map[string]int{"arrivals": 1600, "tool": 1600, "workers": 1600, "batch": 30, "connections": 30} {
		args := "-queue none -trouble 1s -after 5s -rate 50 -load 0.8 -shape " + shape
		if shape == "batch" || shape == "connections" {
			args += " -size 30"
		}
		for name, o := range outcomes(t, args) {
			if shape != "workers" || name == noRetries {
				require.InDelta(t, want, o.begun.total(), float64(want)/5, "%s: %s", shape, name)
			}
		}
	}
}

// Places are kept: so many operations are in progress, and so many attempts in flight, in each process.
func TestPlaces(t *testing.T) {
	flight := func(s strategy) (requests int) {
		p := simple(100)
		p.from = time.Hour
		s.policy = noRetry
		c := newCrowd(s, p)
		now, most := 0, 0
		c.serve = func(time.Duration) (time.Duration, error) {
			now++
			most = max(most, now)
			c.schedule(c.clock.now+answerTime, func() { now-- })
			return answerTime, nil
		}
		for i := range 20 {
			c.schedule(time.Duration(i), func() { c.begin(0, nil) })
		}
		c.runUntil(time.Minute)
		require.Equal(t, s.operations+s.attempts, most)
		return c.good.total()
	}
	require.Equal(t, 20, flight(strategy{operations: 2}), "operations wait until they begin")
	require.Equal(t, 20, flight(strategy{attempts: 2}), "the last attempt waits for 0.9 s")
	require.Equal(t, 11, flight(strategy{attempts: 1}), "attempts wait no longer than their timeout")
}

// The time of an operation counts from its arrival.
func TestBoundedTime(t *testing.T) {
	c := newCrowd(strategy{policy: noRetry, operations: 1}, simple(100))
	c.serve = func(time.Duration) (time.Duration, error) { return 2 * time.Second, nil }
	for range 3 {
		c.begin(0, nil)
	}
	c.runUntil(time.Minute)
	require.Equal(t, 6*time.Second, c.slowest)

	c = newCrowd(strategy{policy: noRetry, operations: 1}, simple(100))
	c.patience = 3 * time.Second
	c.serve = func(time.Duration) (time.Duration, error) { return 2 * time.Second, nil }
	for range 3 {
		c.begin(0, nil)
	}
	c.runUntil(time.Minute)
	require.Equal(t, 1, c.lost(), "it has no place after 3 s")
}

// The wait for a place takes from the time that an attempt has for its answer, if it has one timeout.
func TestOneTimeout(t *testing.T) {
	for _, one := range []bool{false, true} {
		p := simple(100)
		p.oneTimeout = one
		c := newCrowd(strategy{policy: noRetry, attempts: 1}, p)
		var timeouts []time.Duration
		c.serve = func(timeout time.Duration) (time.Duration, error) {
			timeouts = append(timeouts, timeout)
			return 600 * time.Millisecond, nil
		}
		c.begin(0, nil)
		c.begin(0, nil)
		c.runUntil(time.Minute)
		want := map[bool]time.Duration{false: time.Second, true: 400 * time.Millisecond}[one]
		require.Equal(t, []time.Duration{time.Second, want}, timeouts)
	}
}

// Bounds are those of all processes, and their halves of what the service can do within a timeout.
func TestBounds(t *testing.T) {
	places := func(args string) (operations, attempts int) {
		all := outcomes(t, "-load 0.1 -trouble 1s -after 1s "+args)
		return all[bounded].operations, all[pooled].attempts
	}
	for args, want := range map[string][2]int{
		"":                              {1, 1},
		"-rate 100":                     {5, 5},
		"-rate 100 -timeout 4s":         {20, 20},
		"-bound 37 -pool 20":            {3, 2},
		"-processes 100 -bound 3":       {1, 1},
		"-processes 3 -bound 8 -pool 2": {2, 1},
	} {
		operations, attempts := places(args)
		require.Equal(t, want, [2]int{operations, attempts}, args)
	}
}

// Poison holds the places of bounded operations, if it does not leave.
func TestPoison(t *testing.T) {
	manyOperations(t)
	all := outcomes(t, "-trouble none -poison 0.005 -after 20m")
	require.Greater(t, all[bounded].lostShare(), 50.0)
	require.Zero(t, all[boundedTen].lost())
}

// What is bounded loses nothing, neither for itself nor for its neighbours. What is not brings the service
// down for all.
func TestPrograms(t *testing.T) {
	manyOperations(t)
	for _, args := range []string{"-trouble 10s", "-trouble half", "-trouble flapping -seed 3"} {
		all := outcomes(t, "-neighbours "+args)
		for _, name := range []string{pooled, bounded} {
			require.Zero(t, all[name].lost(), args)
			require.Less(t, all[name].othersAfter(), 3.0, args)
		}
		for _, name := range []string{defaults, noLimit, three} {
			require.Greater(t, all[name].lostShare(), 80.0, args)
			require.Greater(t, all[name].othersAfter(), 80.0, args)
		}
		require.InDelta(t, all[noRetries].lostShare(), all[threeBudget].lostShare(), 4, args)
		require.Less(t, all[threePooled].lostShare(), all[noRetries].lostShare(), args)
	}
}

// An attempt whose wait for a place takes from its timeout is sent with the little time that is left, so
// the places change hands too fast.
func TestOneTimeoutCollapse(t *testing.T) {
	manyOperations(t)
	require.Greater(t, outcomes(t, "-trouble 10s -one-timeout")[pooled].lostShare(), 80.0)
}

// A thousand at once are done soon before a service that refuses; a server's wait is spread.
func TestBatch(t *testing.T) {
	manyOperations(t)
	all := outcomes(t, "-shape batch -trouble 15s -queue none -rate 100")
	require.Less(t, all[firstWait].recovered(), 60.0)
	require.Zero(t, all[firstWait].lost())
	require.Equal(t, 1000, all[noRetries].lost())

	all = outcomes(t, "-shape batch -size 5000 -rate 1000 -trouble none -queue none -wait 10s")
	require.Equal(t, 4900.0, all[defaults].worst(), "they are spread over half a second")
	require.Less(t, all[firstWait].worst(), 600.0)
}

// Clients that reconnect and have guessed the capacity twice too large need room for their waits to grow.
func TestConnections(t *testing.T) {
	manyOperations(t)
	all := outcomes(t, "-shape connections -size 2000 -rate 100 -load 0.3 -guess 3 -trouble 10s")
	require.Zero(t, all[firstWait].lost())
	require.Greater(t, all[sameWait].lostShare(), 10.0)
}

// Where one operation in each process is more than the bound, their first waits spread the processes.
func TestBoundedFirstWait(t *testing.T) {
	c := settings(t, "-scenario programs")
	for processes, want := range map[int][2]time.Duration{
		10:  {500 * time.Millisecond, time.Minute},
		150: {10 * time.Second, time.Minute},
		300: {20 * time.Second, 80 * time.Second},
	} {
		p := simple(30)
		p.processes = processes
		policy := c.boundedStrategies(p)[0].policy(&simClock{}, nil).(*backoff.ExponentialBackOff)
		require.Equal(t, want, [2]time.Duration{policy.InitialInterval, policy.MaxInterval})
		require.Zero(t, policy.MaxElapsedTime)
	}
}

// Several servers share the capacity: each is slower, and as many requests are done.
func TestServers(t *testing.T) {
	for servers, want := range map[int][]time.Duration{1: {600, 1100, 1600}, 2: {1100, 1100, 2100}} {
		p := simple(2)
		p.queue = fifo
		p.servers = servers
		serve := newCrowd(strategy{policy: noRetry}, p).serve
		for _, took := range want {
			got, err := serve(time.Minute)
			require.NoError(t, err)
			require.Equal(t, took*time.Millisecond, got)
		}
	}
}
