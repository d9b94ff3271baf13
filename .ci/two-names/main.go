// Two-names imports this library, and a dependency that imports github.com/cenkalti/backoff/v4. It
// fails unless both have the same types.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"example.org/dependency"

	"example.com/backoff"
)

var errBusy = errors.New("busy")

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	calls := 0
	err := backoff.Retry(func() error {
		calls++
		return dependency.Fetch()
	}, dependency.NewPolicy())
	check("the dependency's Permanent stops our loop", calls == 1 && err == dependency.ErrGone, calls, err)

	n, err := dependency.Call(func() error { return backoff.Permanent(errBusy) }, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
	check("our Permanent stops the dependency's loop", n == 1 && err == errBusy, n, err)

	var permanent *backoff.PermanentError
	check("our errors.As finds its PermanentError", errors.As(dependency.Fetch(), &permanent) && permanent.Err == dependency.ErrGone)
	check("its errors.As finds our PermanentError", dependency.Cause(fmt.Errorf("call: %w", backoff.Permanent(errBusy))) == errBusy)
	check("our type probe", errors.Is(dependency.Fetch(), &backoff.PermanentError{}))
	check("its type probe", dependency.IsPermanent(backoff.Permanent(errBusy)) && !dependency.IsPermanent(errBusy))

	policy := dependency.NewPolicy()
	fails := 3
	n, err = dependency.Call(func() error {
		if fails--; fails >= 0 {
			return errBusy
		}
		return nil
	}, backoff.WithContext(backoff.WithMaxRetries(policy, 10), ctx))
	check("its policy, our decorators, its loop", n == 4 && err == nil && policy.Asked == 3, n, err, policy.Asked)

	ended, end := context.WithCancel(ctx)
	bound := backoff.WithContext(backoff.NewConstantBackOff(time.Hour), ended)
	n, err = dependency.Call(func() error {
		end()
		return errBusy
	}, bound)
	check("our BackOffContext ends its loop", dependency.HasContext(bound) && n == 1 && err == context.Canceled, n, err)

	var ticker *backoff.Ticker = dependency.Ticks(3)
	ticks := 0
	for range ticker.C {
		ticks++
	}
	check("its Ticker is ours", ticks == 3, ticks)

	text, err := backoff.RetryWithData(backoff.OperationWithData[string](dependency.FetchWithData), nil)
	check("its generic operation, our generic loop", text == "nothing" && err == dependency.ErrGone, text, err)

	fast := backoff.NewExponentialBackOff(dependency.Short)
	err = backoff.RetryNotify(func() error { return errBusy }, backoff.WithMaxRetries(fast, 1), dependency.Log)
	check("its option and its notify", fast.InitialInterval == time.Millisecond && err == errBusy, err)
}

func check(what string, ok bool, got ...any) {
	if !ok {
		fmt.Println("FAILED:", what, got)
		os.Exit(1)
	}
	fmt.Println("ok:", what)
}
