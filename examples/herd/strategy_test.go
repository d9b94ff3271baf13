package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// Each strategy has a name from the one list, and strategies in the same chart differ in colour.
func TestStrategyNames(t *testing.T) {
	contention := []strategy{}
	for _, c := range competitors() {
		contention = append(contention, c.strategy)
	}
	for _, strategies := range [][]strategy{contention, outageStrategies(), amplificationStrategies(1), blipStrategies(), retryAfterStrategies()} {
		labels, drawn := map[string]bool{}, map[string]string{}
		for _, s := range strategies {
			require.Contains(t, colours, s.name)
			require.False(t, labels[s.label()], s.label())
			labels[s.label()] = true
			drawn[colours[s.name]] = cmp.Or(drawn[colours[s.name]], s.name)
			require.Equal(t, s.name, drawn[colours[s.name]], "one colour for two")
		}
	}
	for j := backoff.ProportionalJitter; !strings.HasPrefix(j.String(), "Jitter("); j++ {
		if colours[j.String()] == "" {
			t.Errorf("add %v to the names and the colours in strategy.go", j)
		}
		for file, strategies := range map[string][]strategy{"contention.go": contention, "outage.go": outageStrategies()} {
			if !slices.ContainsFunc(strategies, func(s strategy) bool { return s.name == j.String() }) {
				t.Errorf("add %v to the strategies in %s", j, file)
			}
		}
	}
}

// A policy behaves the same under next and in a loop of the library, and so does its budget.
func TestNextReference(t *testing.T) {
	policies := []policyFunc{never, immediate, limited(3, immediate), exponential(), limited(5, exponential())}
	for i, policy := range policies {
		var budgets [2]backoff.Budget
		var clock simClock
		fast := backoff.WithBudget(policy(&clock, rand.New(rand.NewPCG(1, 2))), &budgets[0])
		real := looped(func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
			return backoff.WithBudget(policy(clock, random), &budgets[1])
		})(&clock, rand.New(rand.NewPCG(1, 2)))
		outcomes := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			fast.Reset()
			real.Reset()
			for {
				var err error
				if outcomes.Float64() < 0.6 {
					err = errFailed
				}
				wait := next(fast, err)
				require.Equal(t, wait, next(real, err), "policy %d", i)
				require.Equal(t, budgets[0].Tokens(), budgets[1].Tokens(), "policy %d", i)
				if wait < 0 {
					break
				}
				clock.now += wait
			}
		}
	}
}
