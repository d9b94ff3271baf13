package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// An operation whose attempt has not ended by the end is lost, whatever would have come of it.
func TestUnended(t *testing.T) {
	c := newCrowd(strategy{policy: never}, 1, 1)
	c.serve = func(*operation) (time.Duration, error) { return 2 * time.Hour, nil }
	c.begin(0, nil)
	c.runUntil(time.Hour)
	require.Equal(t, 1, c.lost)
}

func TestOutage(t *testing.T) {
	manyOperations(t)
	results := map[string]*outage{}
	all := runOutage(settings(t, "-scenario outage -clients 300 -load 0.83 -after 20m"))
	for _, o := range all {
		results[o.name] = o
		require.Equal(t, o.begun.total(), o.good.total()+o.lost, o.name)
		require.Equal(t, results[noRetries].begun.total(), o.begun.total(), "the load is the same for all")
	}
	never, waits := results[proportional], results[withWait]
	_, ok := never.recovered()
	require.False(t, ok, "the backlog shows, since operations go on")
	require.Greater(t, never.lostShare(), 70.0)
	require.Greater(t, never.mean(), 8.0)
	for _, name := range []string{first20, withWait} {
		require.Less(t, results[name].lostShare(), 0.05, name)
	}
	require.Less(t, waits.mean(), 1.5)
	require.InDelta(t, results[noRetries].lostShare(), results[withBudget].lostShare(), 1)
	checkSVG(t, all.draw(), withWait, "down", "lost")
}

// Workers that all wait come back.
func TestOutageClosed(t *testing.T) {
	manyOperations(t)
	c := settings(t, "-scenario outage -closed -clients 50 -per-process 50 -duration 10m -after 20m")
	s := strategy{policy: exponential(backoff.WithMaxElapsedTime(0)), process: budget(0, 0, backoff.WithBudgetWait)}
	o := simulateOutage(s, c)
	after, ok := o.recovered()
	require.True(t, ok)
	require.Less(t, after, 120)
	require.Zero(t, o.lost)
	require.Less(t, o.mean()*o.rate()*600, 200.0, "calls while down")
}
