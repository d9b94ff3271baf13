// Quickstart fetches a page from a server that is busy at first.
//
// Package httpretry does what fetch, get and check do here, for a whole http.Client.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

const (
	fetchTimeout   = 30 * time.Second // limits all attempts and waits together
	attemptTimeout = 5 * time.Second  // limits each attempt
)

func main() {
	log.SetFlags(0)

	err := run()
	if err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	server := httptest.NewServer(busyAtFirst())
	defer server.Close()

	page, err := fetch(ctx, server.URL)
	if err != nil {
		return err
	}
	_, err = fmt.Println(page)
	return err
}

// fetch returns the page at url. It makes four attempts at most, and fewer if ctx ends.
func fetch(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()

	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
	attempt := func() (string, error) {
		return get(ctx, url)
	}
	notify := func(err error, wait time.Duration) {
		log.Printf("%v; next attempt in %v", err, wait.Round(time.Millisecond))
	}
	return backoff.RetryNotifyWithData(attempt, backoff.WithContext(policy, ctx), notify)
}

// get makes one attempt.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", backoff.Permanent(err)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()

	err = check(resp)
	if err != nil {
		return "", err
	}

	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// check returns an error unless the request succeeded. The error says whether to try again, and when.
func check(resp *http.Response) error {
	if resp.StatusCode < 300 {
		return nil
	}

	err := fmt.Errorf("unexpected status %d", resp.StatusCode)
	if !backoff.RetryableStatus(resp.StatusCode) { // such as 404
		return backoff.Permanent(err)
	}

	// If the server asks for a longer wait than the context leaves time for, the loop gives up.
	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	return backoff.RetryAfter(err, wait)
}

// busyAtFirst returns a handler that refuses two requests before it answers.
func busyAtFirst() http.HandlerFunc {
	var requests atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprint(w, "hello")
		}
	}
}
