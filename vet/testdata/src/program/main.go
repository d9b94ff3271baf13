// A program that runs one command and ends.
package main

import (
	"context"
	"net/http"

	"example.com/backoff"
	"example.com/backoff/httpretry"

	"policies"
)

var policy = backoff.NewExponentialBackOff()

func main() { _ = backoff.Retry(op, policies.Quick) }

func upload(ctx context.Context, name string) error {
	_, _ = (&http.Client{Transport: &httpretry.Transport{}}).Get(name) // perhaps the only call
	return backoff.Retry(op, backoff.WithContext(policy, ctx))
}

func serve(w http.ResponseWriter, r *http.Request) { _ = backoff.Retry(op, policy) } // want `share policy, which`

func exported() { _ = backoff.Retry(op, policies.Quick) } // want `share Quick, which`

func op() error { return nil }
