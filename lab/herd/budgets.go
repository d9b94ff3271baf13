package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/backoff"
)

// Names of rules for retries.
const (
	sizesItself = "Budget"
	oneRetry    = "Budget, Capacity 5"
	fixed500    = "Budget, Capacity 500"
	grpcRule    = "gRPC, ratio 0.1"
	finagleRule = "Finagle and tower"
	envoyRule   = "Envoy in flight"
	sreRule     = "SRE book, throttling"
)

// budgetWays are rules by which processes limit their retries, each after its definition.
func budgetWays(plan) []way {
	full := []backoff.ExponentialBackOffOpts{backoff.WithJitter(backoff.FullJitter)}
	paying := func(retries, capacity, cost int) func(plan, int) caller {
		budget := func() *backoff.Budget { return &backoff.Budget{Capacity: capacity, RetryCost: cost} }
		return settings{retries: retries, budget: budget, waits: full}.process
	}
	return []way{
		{noRetries, settings{retries: none}.process},
		{sizesItself, paying(3, 0, 0)},
		{oneRetry, paying(3, 5, 0)},
		{fixed500, paying(3, 500, 0)},
		{"AWS SDK for Go since v1.48", paying(2, 500, 14)},
		{grpcRule, ruled(grpc)},
		{finagleRule, ruled(finagle)},
		{envoyRule, ruled(envoy)},
		{sreRule, ruled(sre)},
	}
}

// budgetProcesses are the numbers of processes that share the calls of a blip.
var budgetProcesses = []int{1, 10, 100, 300, 1000}

// blip is a plan in which a service for 300 requests/s, 80 % of them used, is down for ten seconds.
func blip(processes int) plan {
	p := plan{
		processes: processes, skew: 1, grow: 1, guess: 1, rate: 300, load: 0.8, servers: 1, from: troubleAt,
		answer: 100 * time.Millisecond, timeout: time.Second, after: 5 * time.Minute, window: 5,
	}
	p.trouble = trouble{name: fmt.Sprint(processes), duration: 10 * time.Second}
	return p
}

// failures is a plan in which attempts fail at a rate, independently of all others, for three minutes. The
// service has all the capacity that it needs.
func failures(rate float64) plan {
	p := blip(10)
	p.load /= 100 // as many calls as in the blip
	p.rate *= 100
	p.trouble = trouble{name: fmt.Sprintf("%g %%", rate*100), left: 1, failing: rate}
	p.from = 0
	p.after = 3 * time.Minute
	return p
}

// writeBudgets compares the rules, and writes a table: by the number of processes when the service recovers from the
// blip, then what is lost while attempts fail at a rate.
func writeBudgets(c config, w io.Writer) {
	head := []string{""}
	var plans []plan
	for _, processes := range budgetProcesses {
		plans = append(plans, blip(processes))
	}
	plans = append(plans, failures(0.1), failures(0.3))
	for i := range plans {
		head = append(head, plans[i].trouble.name)
	}

	ways := budgetWays(plans[0])
	table := [][]string{head}
	for i, one := range c.try(ways, plans...) {
		if i < len(ways) {
			table = append(table, []string{one.way.name})
		}
		row := 1 + i%len(ways)
		table[row] = append(table[row], one.budgetCell())
	}
	fmt.Fprint(w, "Budgets: by processes, the seconds after which a service recovers from an outage; ",
		"by rate, what is lost while attempts fail\n\n")
	writeTable(w, table)
}

// budgetCell says when a service recovers or, if attempts fail, what is lost.
func (t trial) budgetCell() string {
	if t.failing > 0 {
		return t.span((*outcome).lostShare, decimals(1), " %")
	}
	return t.span((*outcome).recovered, func(after float64) string {
		if math.IsInf(after, 1) {
			return "never"
		}
		return fmt.Sprintf("%.0f", after)
	}, "")
}

// rule decides in a process which retries are made. A function that is not set decides nothing. Rules are called by
// one goroutine at a time.
type rule struct {
	send  func(retrying bool) bool       // whether an attempt is made
	ended func(retrying bool, err error) // how an attempt has ended
	retry func() bool                    // whether an attempt that has failed is followed by another
}

// ruled makes three retries at most, by a rule in each process.
func ruled(newRule func(*rand.Rand) rule) func(plan, int) caller {
	return func(p plan, process int) caller {
		const most = 3
		shared := &sharedRule{rule: newRule(rand.New(rand.NewPCG(p.seed, 4+uint64(process))))}
		return func(ctx context.Context, c *call) error {
			policy := c.waits(backoff.WithJitter(backoff.FullJitter))
			retries := 0
			return backoff.Retry(func() error {
				if !shared.sends(retries > 0) {
					return backoff.Permanent(errDropped)
				}
				err := c.attempt(ctx)
				if !shared.goesOn(retries > 0, retries == most, err) {
					return backoff.Permanent(err)
				}
				retries++
				return err
			}, backoff.WithContext(policy, ctx))
		}
	}
}

// sharedRule is a rule that goroutines share.
type sharedRule struct {
	sync.Mutex
	rule
}

// sends reports whether an attempt is made.
func (r *sharedRule) sends(retrying bool) bool {
	r.Lock()
	defer r.Unlock()
	return r.send == nil || r.send(retrying)
}

// goesOn tells the rule how an attempt has ended, and reports whether another follows if it has failed.
func (r *sharedRule) goesOn(retrying, last bool, err error) bool {
	r.Lock()
	defer r.Unlock()
	if r.ended != nil {
		r.ended(retrying, err)
	}
	switch {
	case err == nil:
		return true
	case last:
		return false
	}
	return r.retry == nil || r.retry()
}

// errDropped is that of an attempt that a rule does not let be made.
var errDropped = errors.New("dropped by the client")

// grpc is the throttling of gRPC's proposal A6 (github.com/grpc/proposal, A6-client-retries.md), with the maxTokens
// and the ratio of its example: a failure takes one token, a success puts in the ratio, and retries are made while
// more than half of the tokens are there.
func grpc(*rand.Rand) rule {
	const most, ratio = 10.0, 0.1
	tokens := most
	return rule{
		ended: func(_ bool, err error) {
			if err == nil {
				tokens = min(most, tokens+ratio)
			} else {
				tokens = max(0, tokens-1)
			}
		},
		retry: func() bool { return tokens > most/2 },
	}
}

// finagle is the RetryBudget of Finagle (com.twitter.finagle.service.RetryBudget), and the TpsBudget of tower, with
// their defaults: ten retries a second, and one for five operations of the last ten seconds.
func finagle(*rand.Rand) rule {
	const cost, reserve = 5, 100
	tokens := newSliding(10)
	return rule{
		send: func(retrying bool) bool {
			if !retrying {
				tokens.add(1)
			}
			return true
		},
		retry: func() bool {
			if tokens.sum()+cost*reserve < cost {
				return false
			}
			tokens.add(-cost)
			return true
		},
	}
}

// envoy is Envoy's retry_budget, which it has if configured, with the defaults of its fields
// (envoy.config.cluster.v3.CircuitBreakers): the retries that wait or are on their way may be a fifth of the
// requests on their way, and three in any case.
func envoy(*rand.Rand) rule {
	active, retries := 0, 0
	return rule{
		send: func(bool) bool {
			active++
			return true
		},
		ended: func(retrying bool, _ error) {
			active--
			if retrying {
				retries--
			}
		},
		retry: func() bool {
			if retries >= max(3, active/5) {
				return false
			}
			retries++
			return true
		},
	}
}

// sre is the adaptive throttling of "Handling Overload" (Site Reliability Engineering, O'Reilly 2016, chapter 21,
// equation 21-1), with its K = 2 and two minutes. It drops attempts before they are sent, first ones too; a dropped
// attempt ends its operation. Accepted is what the service took, whether or not it succeeded.
func sre(random *rand.Rand) rule {
	requests, accepts := newSliding(120), newSliding(120)
	return rule{
		send: func(bool) bool {
			sent, accepted := float64(requests.sum()), float64(accepts.sum())
			requests.add(1)
			return random.Float64() >= (sent-2*accepted)/(sent+1)
		},
		ended: func(_ bool, err error) {
			if err == nil || errors.Is(err, errFailed) {
				accepts.add(1)
			}
		},
	}
}

// sliding is a sum over the last seconds.
type sliding struct {
	start        time.Time
	seconds      int
	each         map[int]int
	first, total int // the first second that counts, and the sum from there on
}

func newSliding(seconds int) *sliding {
	return &sliding{start: time.Now(), seconds: seconds, each: map[int]int{}}
}

func (s *sliding) second() int { return int(time.Since(s.start) / time.Second) }

func (s *sliding) add(n int) {
	s.each[s.second()] += n
	s.total += n
}

func (s *sliding) sum() int {
	for ; s.first <= s.second()-s.seconds; s.first++ {
		s.total -= s.each[s.first]
		delete(s.each, s.first)
	}
	return s.total
}
