package main

import (
	"strings"
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

	f := &finagle{sliding{clock: clock, seconds: 10}}
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
	clock.now = 10 * time.Second
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
	manyOperations(t)
	c := settings(t, "-scenario rules")
	c.after = time.Minute
	for _, s := range ruleStrategies(c.retries) {
		b := simulateBlip(s, c, 100, 0.8)
		after, ok := b.recovered()
		switch s.name {
		case noBudget, "Finagle", "Envoy", "SRE book":
			require.False(t, ok, s.name)
		case "gRPC":
			require.Less(t, after, 50)
			failing := simulateFailures(s, 0.1, c)
			require.InDelta(t, 8, failing.lostShare(), 2)
			var table strings.Builder
			rules{1, 0.8, []*blip{b}, []*blip{failing, failing, failing}}.table(&table)
			require.Regexp(t, `(?m)^ +100 +lost\ngRPC +\d+ s +\d+\.\d %$`, table.String())
			require.Regexp(t, `(?m)^ +0\.1 +lost +0\.3 +lost +0\.5 +lost\ngRPC +1\.0`, table.String())
		case withBudget:
			require.Less(t, after, 50)
			require.Less(t, simulateFailures(s, 0.1, c).lostShare(), 0.1)
		}
	}
}
