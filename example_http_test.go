package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/backoff"
)

// fetchPage returns the page at url. It retries errors that may pass. It waits
// for as long as the server asks, but for a minute at most.
func fetchPage(ctx context.Context, client *http.Client, url string) (string, error) {
	fetch := func() (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", backoff.Permanent(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		if response.StatusCode < 300 {
			body, err := io.ReadAll(response.Body)
			return string(body), err
		}
		err = errors.New(response.Status)
		if !backoff.RetryableStatus(response.StatusCode) {
			return "", backoff.Permanent(err)
		}
		wait, _ := backoff.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now())
		return "", backoff.RetryAfter(err, min(wait, time.Minute)) // 0 has no effect
	}
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithRandomizationFactor(0), // for the output only
	)
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}
	return backoff.RetryNotifyWithData(fetch, backoff.WithContext(policy, ctx), notify)
}

// An HTTP client waits for as long as the header Retry-After says.
func ExampleRetryAfter_http() {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch calls++; calls {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1") // in seconds
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer server.Close()

	fmt.Println(fetchPage(context.Background(), server.Client(), server.URL))
	// Output:
	// 503 Service Unavailable; next attempt in 1ms
	// 429 Too Many Requests (retry after 1s); next attempt in 1s
	// hello <nil>
}
