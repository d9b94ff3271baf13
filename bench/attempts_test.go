package bench_test

import (
	"context"

	"example.com/backoff"
)

// ranged is a function as programs write it. (In a function literal that is inlined together with
// its parent, the compiler does not inline Attempts, and its iterator needs the heap.)
func ranged(b backoff.BackOff, op func() error) (err error) {
	for range backoff.Attempts(b, &err) {
		err = op()
	}
	return err
}

func attemptsPerCall(ctx context.Context, op func() error) retry {
	return func() error { return ranged(oursPolicy(ctx), op) }
}

func attemptsReady(ctx context.Context, op func() error) retry {
	b := oursPolicy(ctx)
	return func() error { return ranged(b, op) }
}

func attemptsConstant(s setup, op func() error) retry {
	b := oursConstantPolicy(s)
	return func() error { return ranged(b, op) }
}
