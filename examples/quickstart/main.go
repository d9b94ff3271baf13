// Quickstart retries a flaky call for at most ten seconds.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	calls := 0
	answer, err := backoff.RetryWithData(func() (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("busy")
		}
		return "hello", nil
	}, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	fmt.Println(answer, err, "after", calls, "calls")
}
