package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) { synctest.Test(t, testRules) }

func testRules(t *testing.T) {
	made := func(r rule, failed error) (n int) {
		for r.retry(&tries{}, failed) {
			n++
		}
		return n
	}

	a := awsStandard(nil)
	require.Equal(t, 50, made(a, context.DeadlineExceeded))
	one := tries{paid: 10}
	a.ended(&one, nil)
	require.Equal(t, 2, made(a, errDown), "a success gives back what its retry took")
	require.Equal(t, 35, made(awsAnnounced(nil), errDown))

	g := grpc(0.1)
	for range 4 {
		g.ended(nil, errFailed)
		require.True(t, g.retry(nil, errFailed))
	}
	g.ended(nil, errFailed)
	require.False(t, g.retry(nil, errFailed), "half of the tokens are left")

	f := fifth(100)
	require.Equal(t, 100, made(f, errFailed), "ten a second for ten seconds")
	for range 50 {
		f.send(&tries{})
	}
	require.Equal(t, 10, made(f, errFailed), "a fifth of the operations")
	time.Sleep(10 * time.Second)
	require.Equal(t, 100, made(f, errFailed), "all is forgotten")
	require.Zero(t, made(fifth(0), errFailed))

	e := envoy(nil)
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

	s := sreRetries(nil)
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
	manyCalls(t)
	p := blip(100)
	p.after = time.Minute
	lasting := failures(0.1)
	lasting.after = 20 * time.Second
	for _, s := range ruleWays() {
		after := play(s, p).recovered()
		switch s.name {
		case noRetries, "gRPC ratio 0.1", "gRPC ratio 1", withBudget:
			require.Less(t, after, 55.0, s.name)
		default:
			require.Greater(t, after, 59.0, s.name)
		}
		failing := play(s, lasting).lostShare()
		if s.name == "gRPC ratio 0.1" || s.name == noRetries {
			require.Greater(t, failing, 4.0, s.name)
		} else {
			require.Less(t, failing, 2.0, s.name)
		}
	}
}

// blip is a plan in which a service for 300 requests/s is down for ten seconds.
func blip(processes int) plan {
	p, _ := (config{shape: "events", plan: plan{
		seed: 1, processes: processes, guess: 1, rate: 300, load: 0.8, servers: 1, times: "exponential", queue: fifo,
		answer: 100 * time.Millisecond, timeout: time.Second, after: 5 * time.Minute,
	}}).program(trouble{name: "10s", duration: 10 * time.Second})
	p.window = 5
	return p
}

// failures is a plan in which attempts fail at a rate, independently of all others, for three minutes. The
// service has all the capacity that it needs.
func failures(rate float64) plan {
	p := blip(10)
	p.load /= 100 // as many calls as in the blip
	p.rate *= 100
	p.queue = noQueue
	p.trouble = trouble{name: fmt.Sprintf("%g %%", rate*100), left: 1, failing: rate}
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
	head := []string{""}
	var plans []plan
	for _, processes := range []int{10, 100, 1000} {
		plans = append(plans, blip(processes))
		head = append(head, strconv.Itoa(processes))
	}
	for _, rate := range []float64{0.1, 0.3} {
		p := failures(rate)
		plans = append(plans, p)
		head = append(head, p.trouble.name)
	}
	ways := ruleWays()
	table := [][]string{head}
	for i, one := range (config{seeds: 1}).try(ways, plans...) {
		if i < len(ways) {
			table = append(table, []string{one.way.name})
		}
		cell := one.span((*outcome).lostShare, decimals(1), " %")
		if one.failing == 0 {
			cell = recovery(one.outcomes[0])
		}
		table[1+i%len(ways)] = append(table[1+i%len(ways)], cell)
	}
	writeTable(os.Stdout, table)
}

// recovery says when a service recovers.
func recovery(o *outcome) string {
	after := o.recovered()
	if math.IsInf(after, 1) {
		return "never"
	}
	return fmt.Sprintf("%.0f s", after)
}
