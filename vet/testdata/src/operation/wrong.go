// Package operation does in each attempt what must be done once, or not again.
package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

var calls own.Retrier

func keyed(ctx context.Context) error {
	return calls.Do(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, "POST", "/orders", nil)
		req.Header.Set("Idempotency-Key", strconv.Itoa(rand.Int())) // want `each attempt has a key of its own, so the server takes it for another request: make the key before the loop \[key\]`
		return err
	})
}

func drained(b backoff.BackOff, payload []byte) error {
	body := bytes.NewReader(payload)
	return backoff.Retry(func() error {
		_, err := http.NewRequest("POST", "/orders", body) // want `the first attempt reads body to its end, and the next one sends nothing: make it in each attempt \[body\]`
		return err
	}, b)
}

func sentAgain(b backoff.BackOff, payload []byte) error {
	req, err := http.NewRequest("POST", "/orders", bytes.NewReader(payload))
	if err != nil {
		return err
	}
	return backoff.Retry(func() error {
		_, err := http.DefaultClient.Do(req) // want `the first attempt reads bytes.NewReader\(payload\) to its end`
		return err
	}, b)
}

func unread(ctx context.Context, b own.BackOff) (v any, err error) {
	for range own.Attempts(b, &err) {
		resp, failure := http.Get("/orders") // want `nothing looks at the status, so a 503 is a success: return an error for it \[status\]`
		if err = failure; err == nil {
			err = json.NewDecoder(resp.Body).Decode(&v)
		}
	}
	return v, err
}

func appended(b backoff.BackOff, each func(func(string)) error) (names []string, err error) {
	err = backoff.Retry(func() error {
		return each(func(name string) {
			names = append(names, name) // want `what an attempt appends to names stays when it fails, and the next one appends it again: begin with a new slice in each \[leftover\]`
		})
	}, b)
	return names, err
}
