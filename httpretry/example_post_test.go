package httpretry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// waitInBody is a base for an API that says in the body of its 429s how long to wait:
// {"retry_after": 1.5}, in seconds. It copies the wait into the header.
type waitInBody struct {
	base http.RoundTripper
}

func (w waitInBody) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests {
		return resp, err
	}

	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body)) // for the caller, if there is no other attempt

	var limit struct {
		RetryAfter float64 `json:"retry_after"`
	}
	if json.Unmarshal(body, &limit) == nil && limit.RetryAfter > 0 {
		resp.Header.Set("Retry-After-Ms", strconv.FormatFloat(1000*limit.RetryAfter, 'f', -1, 64))
	}
	return resp, nil
}

// A POST of JSON to an API with rate limits. After status 429 it is sent again, with its body, once the wait
// is over that the server asks for. After any other failure it is not.
func Example_post() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch requests {
		case 1:
			w.Header().Set("Retry-After-Ms", "20")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"retry_after": 0.03}`)
		default:
			io.Copy(w, r.Body)
		}
	}))
	defer server.Close()

	client := &http.Client{
		Transport: &httpretry.Transport{
			Base:   waitInBody{http.DefaultTransport},
			Slots:  new(backoff.Slots), // fewer requests at once while many time out
			Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
			Notify: func(_ *http.Request, _ int, err error, wait time.Duration) {
				fmt.Println("waiting", wait, "after", err)
			},
		},
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	prompt := strings.NewReader(`{"prompt": "hello"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, prompt)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")

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
	fmt.Println(resp.Status, string(body))
	// Output:
	// waiting 20ms after 429 Too Many Requests (retry after 20ms)
	// waiting 30ms after 429 Too Many Requests (retry after 30ms)
	// 200 OK {"prompt": "hello"}
}
