// Package foreign runs loops with the policies of another package.
package main

import (
	"context"
	"sync"

	"example.com/backoff"

	"policies"
)

func load() error {
	_ = backoff.Retry(op, backoff.WithMaxRetries(policies.Slow, 3)) // want `share Slow, which`
	return backoff.Retry(op, policies.Quick)                        // want `share Quick, which holds the state of one: build a policy for each \[shared\]`
}

func copied(ctx context.Context) error {
	policy := policies.Quick
	return backoff.Retry(op, backoff.WithContext(policy, ctx)) // want `share Quick, which`
}

func steady() error {
	_ = backoff.Retry(op, policies.Steady)
	_ = backoff.Retry(op, policies.Named)
	return backoff.Retry(op, policies.Each())
}

var mu sync.Mutex

func locked() error {
	mu.Lock()
	defer mu.Unlock()
	return backoff.Retry(op, policies.Quick)
}

var users = backoff.Retrier{Policy: func() backoff.BackOff { return policies.Quick }} // want `share Quick, which`

// These run once in a program.
func init() { _ = backoff.Retry(op, policies.Quick) }

func main() { _ = backoff.Retry(op, policies.Quick) }

func op() error { return nil }
