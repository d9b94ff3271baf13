package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	clock := &simClock{}
	g := &grpc{10}
	for range 4 {
		g.ended(false, errFailed)
		require.True(t, g.retry())
	}
	g.ended(false, errFailed)
	require.False(t, g.retry(), "half of the tokens are left")

	f := &finagle{sliding{clock: clock, slots: make([]float64, 10)}}
	made := func() (n int) {
		for f.retry() {
			n++
		}
		return n
	}
	require.Equal(t, 100, made(), "ten a second for ten seconds")
	for range 50 {
		f.send(false)
	}
	require.Equal(t, 10, made(), "a fifth of the operations")
	clock.now = 20 * time.Second
	require.Equal(t, 100, made(), "all is forgotten")

	e := &envoy{active: 10}
	for range 3 {
		require.True(t, e.retry())
	}
	require.False(t, e.retry())
	e.active = 20
	require.True(t, e.retry(), "a fifth of the active ones")
	e.ended(true, errFailed)
	require.Equal(t, envoy{19, 3}, *e)
}

func TestRulesOutcome(t *testing.T) {
	for _, r := range runRules(settings(t, "-scenario rules -processes 100")) {
		after, ok := r.blips[0].recovered()
		switch r.name {
		case noBudget, "Finagle", "Envoy", "SRE book":
			require.False(t, ok, r.name)
		case "gRPC", withBudget:
			require.Less(t, after, 50, r.name)
		}
		if r.name == "gRPC" {
			require.InDelta(t, 8, r.failures[0].lostShare(), 2)
		} else if r.name == withBudget {
			require.Less(t, r.failures[0].lostShare(), 0.1)
		}
	}
}
