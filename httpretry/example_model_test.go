package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// Questions to a language model: POSTs whose answers may take minutes, to an API that is overloaded now and then. A
// second answer costs money but does no harm, so a question is asked again after status 408, 409, 429, 500, 502, 503,
// 504, 529, and any of 400 or more with "X-Should-Retry: true". The client of the API must not retry too.
func Example_languageModel() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch requests {
		case 1:
			w.WriteHeader(529) // overloaded
		case 2:
			w.WriteHeader(http.StatusConflict)
		default:
			io.Copy(w, r.Body)
		}
	}))
	defer server.Close()

	model := &http.Client{
		Transport: &httpretry.Transport{
			AttemptTimeout: -1, // an answer may take minutes
			Slots:          backoff.NewSlots(10),
			Idempotent:     func(*http.Request) bool { return true },
			Retryable: func(_ *http.Request, resp *http.Response, err error) bool {
				return httpretry.Retryable(resp, err) || resp != nil && resp.StatusCode == http.StatusConflict
			},
		},
	}

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	question := strings.NewReader(`{"prompt": "hello"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, question)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")

	resp, err := model.Do(req)
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
	fmt.Println(requests, "requests")
	// Output:
	// 200 OK {"prompt": "hello"}
	// 3 requests
}
