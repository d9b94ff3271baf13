package httpretry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// A second attempt can meet what the first has done.
func ExampleAttempts() {
	deleted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if deleted {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		deleted = true
		panic(http.ErrAbortHandler) // the answer is lost
	}))
	defer server.Close()

	req, err := http.NewRequest(http.MethodDelete, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{
		Transport: &httpretry.Transport{
			Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) }, // for a quick example
		},
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()

	fmt.Println(resp.Status)
	if resp.StatusCode == http.StatusNotFound && httpretry.Attempts(resp) > 1 {
		fmt.Println("It may be this request that has deleted it.")
	}
	// Output:
	// 404 Not Found
	// It may be this request that has deleted it.
}
