package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// A client whose callers wait for the answers. The service is unavailable for a moment.
func Example() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		if requests < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	client := &http.Client{
		Transport: &httpretry.Transport{
			AttemptTimeout: 2 * time.Second,    // the longest silence of an attempt
			Slots:          new(backoff.Slots), // fewer requests at once while many time out

			// For a quick example:
			Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
		},
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()

	body, err := io.ReadAll(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Status)
	fmt.Println(string(body))
	fmt.Println(requests, "requests")
	// Output:
	// 200 OK
	// hello
	// 3 requests
}

// Notify logs each retry, Done the end of each request.
func Example_log() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		if requests == 1 {
			w.Header().Set("Retry-After-Ms", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()

	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // so that the output is always the same
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	client := &http.Client{
		Transport: &httpretry.Transport{
			Slots:  new(backoff.Slots), // fewer requests at once while many time out
			Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
			Notify: func(req *http.Request, attempt int, err error, wait time.Duration) {
				logger.WarnContext(req.Context(), "retry", "method", req.Method, "err", err, "wait", wait)
			},
			Done: func(req *http.Request, attempts int, err error) {
				if err != nil {
					logger.ErrorContext(req.Context(), "failed", "method", req.Method, "attempts", attempts, "err", err)
					return
				}
				logger.InfoContext(req.Context(), "done", "method", req.Method, "attempts", attempts)
			},
		},
	}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// level=WARN msg=retry method=GET err="429 Too Many Requests (retry after 2ms)" wait=2ms
	// level=INFO msg=done method=GET attempts=2
}

// In a test of code that uses the client, MaxAttempts turns the retries off.
func Example_off() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	client := &http.Client{
		Transport: &httpretry.Transport{
			MaxAttempts: 1,
		},
	}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()

	fmt.Println(resp.Status)
	fmt.Println(requests, "request")
	// Output:
	// 503 Service Unavailable
	// 1 request
}
