package bench_test

import (
	"context"

	"example.com/backoff"
)

// The functions below must not be inlined: in a function literal that is inlined together with its
// parent, the compiler does not inline Attempts, and its iterator needs the heap.

//go:noinline
func attemptsPerCall(ctx context.Context, op func() error) retry {
	return func() (err error) {
		for range backoff.Attempts(oursPolicy(ctx), &err) {
			err = op()
		}
		return err
	}
}

func attemptsReady(ctx context.Context, op func() error) retry {
	return ranged(oursPolicy(ctx), op)
}

func attemptsConstant(s setup, op func() error) retry {
	return ranged(oursConstantPolicy(s), op)
}

//go:noinline
func ranged(b backoff.BackOff, op func() error) retry {
	return func() (err error) {
		for range backoff.Attempts(b, &err) {
			err = op()
		}
		return err
	}
}
