// Quickstart fetches a page from a server that is busy at first.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/backoff"
)

// fetch returns the body of the page at url. It makes six attempts at most, and no retry after ctx has ended.
func fetch(ctx context.Context, url string) (string, error) {
	client := &http.Client{Timeout: 10 * time.Second} // limits each attempt
	get := func() (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", backoff.Permanent(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		if err := check(response); err != nil {
			return "", err
		}
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	b := backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 5), ctx)
	return backoff.RetryNotifyWithData(get, b, func(err error, wait time.Duration) {
		log.Printf("%v; next attempt in %v", err, wait.Round(time.Millisecond))
	})
}

// check returns an error unless the request succeeded. The error says whether to try again, and when.
func check(response *http.Response) error {
	if response.StatusCode < 300 {
		return nil
	}
	err := errors.New(response.Status)
	if !backoff.RetryableStatus(response.StatusCode) { // such as 404
		return backoff.Permanent(err)
	}
	wait, _ := backoff.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now())
	return backoff.RetryAfter(err, min(wait, time.Minute)) // a minute at most
}

func main() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch requests++; requests {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer server.Close()

	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(fetch(ctx, server.URL))
}
