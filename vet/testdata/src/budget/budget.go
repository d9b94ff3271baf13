// Package budget makes a Budget for one call, or for many.
package budget

import (
	"context"
	"net/http"

	"example.com/backoff"
)

func literal(b backoff.BackOff) error {
	return backoff.Retry(op, backoff.WithBudget(b, &backoff.Budget{})) // want `this Budget is made for one call, and protects nothing: share one between all calls \[budget\]`
}

func made(ctx context.Context, b backoff.BackOff) error {
	return backoff.Retry(op, backoff.WithContext(backoff.WithBudget(b, new(backoff.Budget)), ctx)) // want `protects nothing`
}

func variables(w http.ResponseWriter, r *http.Request) {
	var budget backoff.Budget
	budget.Capacity = 50
	policy := backoff.WithBudget(backoff.NewConstantBackOff(1), &budget) // want `protects nothing`
	_ = backoff.Retry(op, policy)

	pointer := &backoff.Budget{Capacity: 50}
	_ = backoff.Retry(op, backoff.WithBudget(backoff.NewConstantBackOff(1), pointer)) // want `protects nothing`
}

func attempts(b backoff.BackOff) (err error) {
	for range backoff.Attempts(backoff.WithBudget(b, &backoff.Budget{}), &err) { // want `protects nothing`
		err = op()
	}
	return err
}

func eachPass(names []string) {
	for range names {
		budget := new(backoff.Budget)
		_ = backoff.Retry(op, backoff.WithBudget(backoff.NewConstantBackOff(1), budget)) // want `protects nothing`
	}
}

// These are shared between calls.
var shared backoff.Budget

type client struct {
	budget backoff.Budget
	policy backoff.BackOff
}

func newClient() *client {
	return &client{policy: backoff.WithBudget(backoff.NewConstantBackOff(1), &backoff.Budget{})}
}

func (c *client) get(b backoff.BackOff, given *backoff.Budget) {
	_ = backoff.Retry(op, backoff.WithBudget(b, &shared))
	_ = backoff.Retry(op, backoff.WithBudget(b, &c.budget))
	_ = backoff.Retry(op, backoff.WithBudget(b, given))
	_ = backoff.Retry(op, c.policy)
}

func loop(names []string) {
	budget := &backoff.Budget{}
	var second backoff.Budget
	policy := backoff.WithBudget(backoff.NewConstantBackOff(1), &backoff.Budget{})
	for range names {
		_ = backoff.Retry(op, backoff.WithBudget(backoff.NewConstantBackOff(1), budget))
		_ = backoff.Retry(op, policy)
		go func() { _ = backoff.Retry(op, backoff.WithBudget(backoff.NewConstantBackOff(1), &second)) }()
	}
}

func twice(b backoff.BackOff) {
	budget := &backoff.Budget{}
	_ = backoff.Retry(op, backoff.WithBudget(b, budget))
	_ = backoff.Retry(op, backoff.WithBudget(b, budget))

	policy := backoff.WithBudget(b, &backoff.Budget{})
	_ = backoff.Retry(op, policy)
	_ = backoff.Retry(op, policy)
}

func leaves(c *client, b backoff.BackOff) backoff.BackOff {
	budget := &backoff.Budget{}
	_ = backoff.Retry(func() error { budget.Withdraw(); return nil }, backoff.WithBudget(b, budget))

	kept := backoff.WithBudget(b, &backoff.Budget{})
	c.policy = kept
	_ = backoff.Retry(op, kept)
	return backoff.WithBudget(b, &backoff.Budget{})
}

func either(b backoff.BackOff, quick bool) {
	budget := &shared
	if quick {
		budget = &backoff.Budget{}
	}
	_ = backoff.Retry(op, backoff.WithBudget(b, budget))
	_ = backoff.Retry(op, backoff.WithBudget(b, find()))
	found := find()
	_ = backoff.Retry(op, backoff.WithBudget(b, found))
}

func find() *backoff.Budget { return &shared }

func main() {
	_ = backoff.Retry(op, backoff.WithBudget(backoff.NewConstantBackOff(1), &backoff.Budget{}))
}

func op() error { return nil }
