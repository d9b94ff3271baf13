package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"example.com/backoff"
)

// The parameters of the lasting failures.
const (
	failingRate = 240.0 // operations per second, as in the blip at 80 % load
	failingFor  = 3 * time.Minute
)

func failureRates() []float64 { return []float64{0.1, 0.3, 0.5} }

// rule decides in a process which retries are made. Each is written after its definition.
type rule interface {
	send(retry bool) bool        // whether an attempt is made
	ended(retry bool, err error) // how an attempt has ended
	retry() bool                 // whether an attempt that has failed is followed by another
}

// ruleBackOff asks a rule before each retry that its policy would make.
type ruleBackOff struct {
	backoff.BackOff
	rule     rule
	retrying bool
}

func (b *ruleBackOff) Unwrap() backoff.BackOff { return b.BackOff }

func (b *ruleBackOff) Observe(err error) { b.rule.ended(b.retrying, err) }

func (b *ruleBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	if wait >= 0 && !b.rule.retry() {
		return backoff.Stop
	}
	b.retrying = true
	return wait
}

// following returns processes that follow a rule each.
func following(newRule func(*simClock, *rand.Rand) rule) processFunc {
	return func(clock *simClock, random *rand.Rand) decorator {
		shared := newRule(clock, random)
		return func(b backoff.BackOff) backoff.BackOff { return &ruleBackOff{BackOff: b, rule: shared} }
	}
}

// grpc is the throttling of gRPC's proposal A6 (github.com/grpc/proposal, A6-client-retries.md), with
// the maxTokens and tokenRatio of its example: a failure takes one token, a success puts in a tenth,
// and retries are made while more than half of the tokens are there.
type grpc struct{ tokens float64 }

func (g *grpc) send(bool) bool { return true }

func (g *grpc) ended(_ bool, err error) {
	if err == nil {
		g.tokens = min(10, g.tokens+0.1)
	} else {
		g.tokens = max(0, g.tokens-1)
	}
}

func (g *grpc) retry() bool { return g.tokens > 5 }

// finagle is Finagle's RetryBudget with its defaults (com.twitter.finagle.service.RetryBudget): each
// operation puts in one token, a retry takes five, what is more than ten seconds old is forgotten, and
// 500 are there in any case: ten retries a second.
type finagle struct{ tokens sliding }

func (f *finagle) send(retry bool) bool {
	if !retry {
		f.tokens.add(1)
	}
	return true
}

func (f *finagle) ended(bool, error) {}

func (f *finagle) retry() bool {
	if f.tokens.sum() < 5-500 {
		return false
	}
	f.tokens.add(-5)
	return true
}

// envoy is Envoy's retry_budget with its defaults (envoy.config.cluster.v3.CircuitBreakers): the
// retries that wait or are on their way may be a fifth of the requests on their way, and three in any
// case.
type envoy struct{ active, retries int }

func (e *envoy) send(bool) bool {
	e.active++
	return true
}

func (e *envoy) ended(retry bool, _ error) {
	e.active--
	if retry {
		e.retries--
	}
}

func (e *envoy) retry() bool {
	if e.retries >= max(3, e.active/5) {
		return false
	}
	e.retries++
	return true
}

// sre is the adaptive throttling of "Handling Overload" (Site Reliability Engineering, O'Reilly 2016,
// equation 21-1) with its K = 2 and two minutes. It drops attempts before they are sent, first ones
// too; a dropped attempt ends its operation.
type sre struct {
	random            *rand.Rand
	requests, accepts sliding
}

func (s *sre) send(bool) bool {
	requests, accepts := s.requests.sum(), s.accepts.sum()
	s.requests.add(1)
	return s.random.Float64() >= (requests-2*accepts)/(requests+1)
}

func (s *sre) ended(_ bool, err error) {
	if err == nil {
		s.accepts.add(1)
	}
}

func (s *sre) retry() bool { return true }

// sliding is a sum over the last seconds, as many as there are slots.
type sliding struct {
	clock  *simClock
	slots  []float64
	second int // that of the last slot written
}

func (s *sliding) add(v float64) {
	s.sum()
	s.slots[s.second%len(s.slots)] += v
}

func (s *sliding) sum() (total float64) {
	for now := s.clock.second(); s.second < now; {
		s.second++
		s.slots[s.second%len(s.slots)] = 0
	}
	for _, v := range s.slots {
		total += v
	}
	return total
}

func ruleStrategies() []strategy {
	policy := jittered(retries, backoff.FullJitter)
	return []strategy{
		{name: noRetries, policy: never},
		{name: noBudget, policy: policy},
		{name: "AWS at cost 5", policy: policy, process: budget(500, 5, backoff.WithBudget)},
		{name: "AWS at cost 14", policy: policy, process: budget(500, 14, backoff.WithBudget)},
		{name: "gRPC", policy: policy, process: following(func(*simClock, *rand.Rand) rule { return &grpc{10} })},
		{name: "Finagle", policy: policy, process: following(func(c *simClock, _ *rand.Rand) rule {
			return &finagle{sliding{clock: c, slots: make([]float64, 10)}}
		})},
		{name: "Envoy", policy: policy, process: following(func(*simClock, *rand.Rand) rule { return &envoy{} })},
		{name: "SRE book", policy: policy, process: following(func(c *simClock, r *rand.Rand) rule {
			return &sre{r, sliding{clock: c, slots: make([]float64, 120)}, sliding{clock: c, slots: make([]float64, 120)}}
		})},
		{name: withBudget, policy: policy, process: budget(0, 0, backoff.WithBudget)},
	}
}

// ruled is what one strategy comes to.
type ruled struct {
	strategy
	blips    []*blip    // by the number of processes
	failures []*history // by the failure rate
}

func runRules(c config) []ruled {
	all := make([]ruled, len(ruleStrategies()))
	for i, s := range ruleStrategies() {
		all[i] = ruled{s, make([]*blip, len(c.ruled)), make([]*history, len(failureRates()))}
	}
	each := len(c.ruled) + len(failureRates())
	parallel(len(all)*each, func(i int) {
		r := all[i/each]
		if i %= each; i < len(c.ruled) {
			s := c.blip
			s.processes, s.load = c.ruled[i], middle(c.loads)
			r.blips[i] = simulateBlip(r.strategy, s, c.seed)
		} else {
			i -= len(c.ruled)
			r.failures[i] = simulateFailures(r.strategy, failureRates()[i], c.seed)
		}
	})
	return all
}

// simulateFailures has attempts fail at a rate, independently of all others, in ten processes.
func simulateFailures(s strategy, rate float64, seed uint64) *history {
	c := newCrowd(s, blipProcesses, seed)
	c.serve = func(*operation) (time.Duration, error) {
		if c.random.Float64() < rate {
			return answerLatency, errFailed
		}
		return answerLatency, nil
	}
	arrivals := rand.New(rand.NewPCG(seed, 0))
	c.arrivals(arrivals, failingRate, failingFor, func() { c.begin(arrivals.IntN(blipProcesses), nil) })
	c.run(2 * failingFor)
	return &c.history
}

func writeRules(w io.Writer, all []ruled, c config) {
	fmt.Fprintf(w, "Rules: the blip at %.0f %% load, by the number of processes: when the service recovers, and what is lost\n\n", middle(c.loads)*100)
	table := [][]string{{""}}
	for _, n := range c.ruled {
		table[0] = append(table[0], strconv.Itoa(n), "lost")
	}
	for _, r := range all {
		row := []string{r.label()}
		for _, b := range r.blips {
			row = append(row, verdict(b.recovered()), fmt.Sprintf("%.1f %%", b.lostShare()))
		}
		table = append(table, row)
	}
	writeTable(w, table)
	fmt.Fprintf(w, "Lasting failures, by their rate: requests for each operation, and operations that fail\n\n")
	table = [][]string{{""}}
	for _, rate := range failureRates() {
		table[0] = append(table[0], fmt.Sprintf("%g", rate), "lost")
	}
	for _, r := range all {
		row := []string{r.label()}
		for _, h := range r.failures {
			row = append(row, fmt.Sprintf("%.2f", h.each()), fmt.Sprintf("%.1f %%", h.lostShare()))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}
