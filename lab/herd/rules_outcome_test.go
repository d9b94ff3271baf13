package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	clock := &simClock{}
	made := func(r rule, failed error) (n int) {
		for r.retry(&tries{}, failed) {
			n++
		}
		return n
	}

	a := awsStandard(nil, nil)
	require.Equal(t, 50, made(a, errTimeout))
	one := tries{paid: 10}
	a.ended(&one, nil)
	require.Equal(t, 2, made(a, errDown), "a success gives back what its retry took")
	require.Equal(t, 35, made(awsAnnounced(nil, nil), errDown))

	g := grpc(0.1)
	for range 4 {
		g.ended(nil, errFailed)
		require.True(t, g.retry(nil, errFailed))
	}
	g.ended(nil, errFailed)
	require.False(t, g.retry(nil, errFailed), "half of the tokens are left")

	f := fifth(clock, 100)
	require.Equal(t, 100, made(f, errFailed), "ten a second for ten seconds")
	for range 50 {
		f.send(&tries{})
	}
	require.Equal(t, 10, made(f, errFailed), "a fifth of the operations")
	clock.now = 10 * time.Second
	require.Equal(t, 100, made(f, errFailed), "all is forgotten")
	require.Zero(t, made(fifth(clock, 0), errFailed))

	e := envoy(nil, nil)
	for range 10 {
		e.send(&tries{})
	}
	require.Equal(t, 3, made(e, errFailed))
	for range 10 {
		e.send(&tries{})
	}
	require.Equal(t, 1, made(e, errFailed), "a fifth of the active ones")
	e.ended(&tries{retrying: true}, errFailed)
	require.Zero(t, made(e, errFailed), "there are 19, and three retries")

	s := sreRetries(clock, nil)
	for range 10 {
		s.send(&tries{})
	}
	require.True(t, s.retry(nil, nil))
	s.send(&tries{retrying: true})
	require.True(t, s.retry(nil, nil), "1 of 11")
	s.send(&tries{retrying: true})
	require.False(t, s.retry(nil, nil), "2 of 12")
}

func TestRulesOutcome(t *testing.T) {
	manyOperations(t)
	c := settings(t, "-scenario blip")
	p := c.blip(0.8)
	p.processes, p.after = 100, time.Minute
	for _, s := range ruleStrategies(c.retries) {
		after := play(s, p).recovered()
		switch s.name {
		case noRetries, "gRPC ratio 0.1", "gRPC ratio 1", withBudget:
			require.Less(t, after, 50.0, s.name)
		default:
			require.Greater(t, after, 60.0, s.name)
		}
		lasting := failures(c, 0.1)
		lasting.after = 20 * time.Second
		failing := play(s, lasting).lostShare()
		if s.name == "gRPC ratio 0.1" || s.name == noRetries {
			require.Greater(t, failing, 5.0, s.name)
		} else {
			require.Less(t, failing, 2.0, s.name)
		}
	}
}

// failures is a plan in which attempts fail at a rate, independently of all others, for three minutes. The
// service has all the capacity that it needs.
func failures(c config, rate float64) plan {
	p := c.blip(0.008) // as many operations as in the blip at 80 %
	p.rate *= 100
	p.queue = noQueue
	p.trouble = trouble{name: fmt.Sprintf("%g %%", rate*100), failing: rate}
	p.from = 0
	p.after = 3 * time.Minute
	return p
}

var printRules = flag.Bool("rules", false, "print the table of the rules, which takes a minute")

// The table is that of docs/measured.md: by the number of processes when the service recovers from the blip, then
// what is lost while attempts fail at a rate.
func TestRulesTable(t *testing.T) {
	if !*printRules {
		t.Skip("without -rules")
	}
	c := settings(t, "-scenario blip")
	head := []string{""}
	var plans []plan
	for _, processes := range []int{10, 100, 1000} {
		p := c.blip(0.8)
		p.processes = processes
		plans = append(plans, p)
		head = append(head, strconv.Itoa(processes))
	}
	for _, rate := range []float64{0.1, 0.3} {
		p := failures(c, rate)
		plans = append(plans, p)
		head = append(head, p.trouble.name)
	}
	strategies := ruleStrategies(3)
	table := &strings.Builder{}
	writeStrategies(table, [][]string{head}, len(strategies), c.try(strategies, plans...), func(one trial) []string {
		if one.failing > 0 {
			return []string{one.lost()}
		}
		return []string{one.recovered()}
	})
	fmt.Print(table)
}
