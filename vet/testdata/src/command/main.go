// A program that runs one command and ends, with policies of its own and of another package.
package main

import (
	"context"
	"net/http"

	"example.com/backoff"
	"example.com/backoff/httpretry"

	"policies"
)

var policy = backoff.NewExponentialBackOff()

func main() {
	_ = backoff.Retry(op, policies.Quick)
	_ = upload(context.Background(), "file")
}

func upload(ctx context.Context, name string) error {
	return backoff.Retry(op, backoff.WithContext(policy, ctx))
}

// A handler runs for many even there.
func handle(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, policy) // want `share policy, which`
}

func exported() {
	_ = backoff.Retry(op, policies.Quick)                           // want `share Quick, which`
	_ = backoff.Retry(op, backoff.WithMaxRetries(policies.Slow, 3)) // want `share Slow, which`
	_ = backoff.Retry(op, policies.Steady)
	_ = backoff.Retry(op, policies.Named)
}

// This may be the only call of the command.
func download(url string) (*http.Response, error) {
	client := &http.Client{Transport: &httpretry.Transport{}}
	return client.Get(url)
}

func op() error { return nil }
