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

// fetchTimeout limits all attempts and waits of a call together.
const fetchTimeout = 30 * time.Second

// pages is for all calls to the server.
var pages = backoff.Retrier{
	AttemptTimeout: 5 * time.Second,
	Slots:          backoff.NewSlots(10), // calls in progress, in this process

	Notify: func(_ context.Context, attempt int, err error, wait time.Duration) {
		log.Printf("attempt %d: %v; next attempt in %v", attempt, err, wait.Round(time.Millisecond))
	},
}

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

	return backoff.DoWithData(ctx, &pages, func(ctx context.Context) (string, error) {
		return get(ctx, url)
	})
}

// get makes one attempt. It reads the body before it returns: then the attempt's context ends.
func get(ctx context.Context, url string) (string, error) {
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

	// If the server asks for a longer wait than the context leaves time for, the call ends.
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
