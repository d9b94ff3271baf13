// A program that runs one command and ends.
package main

import (
	"context"
	"net/http"

	"github.com/cenkalti/backoff/v4"
)

var policy = backoff.NewExponentialBackOff()

func main() { _ = upload(context.Background(), "file") }

func upload(ctx context.Context, name string) error {
	return backoff.Retry(op, backoff.WithContext(policy, ctx))
}

// A handler runs for many even there.
func handle(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, policy) // want `share policy, which`
}

func op() error { return nil }
