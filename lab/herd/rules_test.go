package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/backoff"
)

// rule decides in a process which retries are made. Each is written after its definition. A function that is
// not set decides nothing. Rules are called by one goroutine at a time.
type rule struct {
	send  func(*tries) bool        // whether an attempt is made
	ended func(*tries, error)      // how an attempt has ended
	retry func(*tries, error) bool // whether an attempt that has failed is followed by another
}

// tries is what a rule knows of an operation.
type tries struct {
	retrying bool
	paid     int // for the last retry
}

// ruleBackOff asks a rule before each retry that its policy would make.
type ruleBackOff struct {
	backoff.BackOff
	rule
	tries
	err error
}

func (b *ruleBackOff) Unwrap() backoff.BackOff { return b.BackOff }

func (b *ruleBackOff) Observe(err error) {
	b.err = err
	b.ended(&b.tries, err)
}

func (b *ruleBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	if wait >= 0 && !b.retry(&b.tries, b.err) {
		return backoff.Stop
	}
	b.retrying = true
	return wait
}

// following retries with a policy, by a rule in each process.
func following(policy policyFunc, newRule func(random *rand.Rand) rule) func(plan) caller {
	return func(p plan) caller {
		shared := locked(newRule(rand.New(rand.NewPCG(p.seed, 4))))
		return func(ctx context.Context, c *call) error {
			b := &ruleBackOff{BackOff: policy(c.random), rule: shared}
			return backoff.Retry(func() error {
				if !b.send(&b.tries) {
					return backoff.Permanent(errRefused) // by the client itself
				}
				return attempt(ctx, p.timeout, c.request)
			}, backoff.WithContext(b, ctx))
		}
	}
}

// locked returns a rule that goroutines can share, with all functions set.
func locked(r rule) rule {
	var mu sync.Mutex
	return rule{
		send: func(t *tries) bool {
			mu.Lock()
			defer mu.Unlock()
			return r.send == nil || r.send(t)
		},
		ended: func(t *tries, err error) {
			mu.Lock()
			defer mu.Unlock()
			if r.ended != nil {
				r.ended(t, err)
			}
		},
		retry: func(t *tries, err error) bool {
			mu.Lock()
			defer mu.Unlock()
			return r.retry == nil || r.retry(t, err)
		},
	}
}

// aws is the retry quota of the AWS SDKs (docs.aws.amazon.com/sdkref, "Retry behavior"): a success after a
// retry gives back what that retry took, and one at the first attempt gives one token. In the standard
// mode a retry takes 5, and 10 after a timeout (that of Go took 5, that of JavaScript always 10). In the mode
// that was announced in May 2026 it takes 14, and 5 after throttling.
func aws(usual, timeout, throttled int) rule {
	tokens := 500
	return rule{
		ended: func(t *tries, err error) {
			if err == nil {
				tokens = min(500, tokens+max(1, t.paid))
			}
		},
		retry: func(t *tries, err error) bool {
			t.paid = usual
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				t.paid = timeout
			case errors.Is(err, errRefused):
				t.paid = throttled
			}
			if tokens < t.paid {
				return false
			}
			tokens -= t.paid
			return true
		},
	}
}

func awsStandard(*rand.Rand) rule  { return aws(5, 10, 5) }
func awsAnnounced(*rand.Rand) rule { return aws(14, 14, 5) }

// grpc is the throttling of gRPC's proposal A6 (github.com/grpc/proposal, A6-client-retries.md), with
// the maxTokens of its example: a failure takes one token, a success puts in the ratio, and retries are
// made while more than half of the tokens are there.
func grpc(ratio float64) rule {
	tokens := 10.0
	return rule{
		ended: func(_ *tries, err error) {
			if err == nil {
				tokens = min(10, tokens+ratio)
			} else {
				tokens = max(0, tokens-1)
			}
		},
		retry: func(*tries, error) bool { return tokens > 5 },
	}
}

// fifth lets one retry be made for five operations of the last ten seconds, and a reserve. With a reserve of
// ten retries a second it is the RetryBudget of Finagle (com.twitter.finagle.service.RetryBudget) and the
// TpsBudget of tower with their defaults. Envoy's budget_interval (github.com/envoyproxy/envoy, pull
// request 44147) and the Gateway API's RetryConstraint are of this kind too.
func fifth(reserve int) rule {
	tokens := newSliding(10)
	return rule{
		send: func(t *tries) bool {
			if !t.retrying {
				tokens.add(1)
			}
			return true
		},
		retry: func(*tries, error) bool {
			if tokens.sum() < 5-5*reserve {
				return false
			}
			tokens.add(-5)
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
		send: func(*tries) bool {
			active++
			return true
		},
		ended: func(t *tries, _ error) {
			active--
			if t.retrying {
				retries--
			}
		},
		retry: func(*tries, error) bool {
			if retries >= max(3, active/5) {
				return false
			}
			retries++
			return true
		},
	}
}

// sreRetries is the rule for retries in "Handling Overload" (Site Reliability Engineering, O'Reilly 2016,
// chapter 21): less than a tenth of a client's requests may be retries, and an operation has three
// attempts. The book names no time; these are the two minutes of its throttling.
func sreRetries(*rand.Rand) rule {
	requests, retries := newSliding(120), newSliding(120)
	return rule{
		send: func(t *tries) bool {
			requests.add(1)
			if t.retrying {
				retries.add(1)
			}
			return true
		},
		retry: func(*tries, error) bool { return 10*retries.sum() < requests.sum() },
	}
}

// sreThrottling is the adaptive throttling of the same chapter (equation 21-1), with its K = 2 and two
// minutes. It drops attempts before they are sent, first ones too; a dropped attempt ends its operation.
// Accepted is what the service took, whether or not it succeeded.
func sreThrottling(random *rand.Rand) rule {
	requests, accepts := newSliding(120), newSliding(120)
	return rule{
		send: func(*tries) bool {
			sent, accepted := float64(requests.sum()), float64(accepts.sum())
			requests.add(1)
			return random.Float64() >= (sent-2*accepted)/(sent+1)
		},
		ended: func(_ *tries, err error) {
			if err == nil || err == errFailed {
				accepts.add(1)
			}
		},
	}
}

// sliding is a sum over the last seconds.
type sliding struct {
	start        time.Time
	seconds      int
	each         counts
	first, total int // the first second that counts, and the sum from there on
}

func newSliding(seconds int) *sliding { return &sliding{start: time.Now(), seconds: seconds} }

func (s *sliding) second() int { return int(time.Since(s.start) / time.Second) }

func (s *sliding) add(n int) {
	s.each.add(s.second(), n)
	s.total += n
}

func (s *sliding) sum() int {
	for ; s.first <= s.second()-s.seconds; s.first++ {
		s.total -= s.each.sum(s.first, s.first+1)
	}
	return s.total
}

func ruleWays() []way {
	full := exponential(backoff.WithJitter(backoff.FullJitter))
	policy, two := limited(3, full), limited(2, full)
	follow := func(name string, policy policyFunc, newRule func(*rand.Rand) rule) way {
		return way{name: name, process: following(policy, newRule)}
	}
	return []way{
		{name: noRetries, process: once},
		follow("AWS standard", two, awsStandard),
		follow("AWS announced", two, awsAnnounced),
		follow("gRPC ratio 0.1", policy, func(*rand.Rand) rule { return grpc(0.1) }),
		follow("gRPC ratio 1", policy, func(*rand.Rand) rule { return grpc(1) }),
		follow("Finagle and tower", policy, func(*rand.Rand) rule { return fifth(100) }),
		follow("a fifth over 10 s", policy, func(*rand.Rand) rule { return fifth(0) }),
		follow("Envoy in flight", policy, envoy),
		follow("SRE book retries", two, sreRetries),
		follow("SRE book throttling", policy, sreThrottling),
		{name: withBudget, process: budgeted(policy, 0)},
	}
}

const withBudget = "WithBudget"
