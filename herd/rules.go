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
	requests, accepts := float64(s.requests.sum()), float64(s.accepts.sum())
	s.requests.add(1)
	return s.random.Float64() >= (requests-2*accepts)/(requests+1)
}

func (s *sre) ended(_ bool, err error) {
	if err == nil {
		s.accepts.add(1)
	}
}

func (s *sre) retry() bool { return true }

// sliding is a sum over the last seconds.
type sliding struct {
	clock   *simClock
	seconds int
	counts
}

func (s *sliding) add(n int) { s.counts.add(s.clock.second(), n) }

func (s *sliding) sum() int {
	next := s.clock.second() + 1
	return s.counts.sum(max(0, next-s.seconds), next)
}

func ruleStrategies(retries int) []strategy {
	policy := jittered(retries, backoff.FullJitter)
	return []strategy{
		{name: noRetries, policy: never},
		{name: noBudget, policy: policy},
		{name: "AWS at cost 5", policy: policy, process: budget(500, 5, backoff.WithBudget)},
		{name: "AWS at cost 14", policy: policy, process: budget(500, 14, backoff.WithBudget)},
		{name: "gRPC", policy: policy, process: following(func(*simClock, *rand.Rand) rule { return &grpc{10} })},
		{name: "Finagle", policy: policy, process: following(func(c *simClock, _ *rand.Rand) rule {
			return &finagle{sliding{clock: c, seconds: 10}}
		})},
		{name: "Envoy", policy: policy, process: following(func(*simClock, *rand.Rand) rule { return &envoy{} })},
		{name: "SRE book", policy: policy, process: following(func(c *simClock, r *rand.Rand) rule {
			return &sre{r, sliding{clock: c, seconds: 120}, sliding{clock: c, seconds: 120}}
		})},
		{name: withBudget, policy: policy, process: budget(0, 0, backoff.WithBudget)},
	}
}

// rules are the results of all strategies for each number of processes, and for each failure rate.
type rules struct {
	strategies      int
	load            float64
	blips, failures []*blip
}

func runRules(c config) rules {
	strategies, processes := ruleStrategies(c.retries), c.processes.or(10, 100, 1000)
	n := len(strategies)
	all := rules{n, c.loads.or(0.8)[0], make([]*blip, n*len(processes)), make([]*blip, n*len(failureRates()))}
	parallel(len(all.blips)+len(all.failures), func(i int) {
		s := strategies[i%n]
		if i < len(all.blips) {
			all.blips[i] = simulateBlip(s, c, processes[i/n], all.load)
		} else {
			i -= len(all.blips)
			all.failures[i] = simulateFailures(s, failureRates()[i/n], c)
		}
	})
	return all
}

// simulateFailures has attempts fail at a rate, independently of all others, in ten processes.
func simulateFailures(s strategy, rate float64, set config) *blip {
	c := newCrowd(s, blipProcesses, set.seed)
	c.serve = func(*operation) (time.Duration, error) {
		if c.random.Float64() < rate {
			return set.answer, errFailed
		}
		return set.answer, nil
	}
	arrivals := rand.New(rand.NewPCG(set.seed, 0))
	c.arrivals(arrivals, failingRate, failingFor, func() { c.begin(arrivals.IntN(blipProcesses), nil) })
	c.runUntil(2 * failingFor)
	return &blip{strategy: s, history: &c.history}
}

func (all rules) table(w io.Writer) {
	fmt.Fprintf(w, "Rules: the blip at %.0f %% load, by the number of processes: when the service recovers, and what is lost\n\n", all.load*100)
	head := []string{""}
	for i := 0; i < len(all.blips); i += all.strategies {
		head = append(head, strconv.Itoa(all.blips[i].processes), "lost")
	}
	writeStrategies(w, [][]string{head}, all.strategies, all.blips, (*blip).cells)
	fmt.Fprintf(w, "Lasting failures, by their rate: requests for each operation, and operations that fail\n\n")
	head = []string{""}
	for _, rate := range failureRates() {
		head = append(head, fmt.Sprintf("%g", rate), "lost")
	}
	writeStrategies(w, [][]string{head}, all.strategies, all.failures, func(b *blip) []string {
		return []string{fmt.Sprintf("%.2f", b.each()), fmt.Sprintf("%.1f %%", b.lostShare())}
	})
}
