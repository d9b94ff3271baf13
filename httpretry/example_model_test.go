package httpretry_test

import (
	"bufio"
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

// newModelClient returns a client for questions to a language model whose answers are streams. A second answer costs
// money but does no harm, so a question is asked again after status 408, 409, 429, 500, 502, 503, 504, 529, and any of
// 400 or more with "X-Should-Retry: true". The client of the API must not retry too.
func newModelClient(silence time.Duration) *http.Client {
	return &http.Client{
		Transport: &httpretry.Transport{
			AttemptTimeout: 2 * time.Minute,    // until the stream begins
			BodyTimeout:    silence,            // between two parts of it
			Slots:          new(backoff.Slots), // fewer requests at once while many time out
			Idempotent:     func(*http.Request) bool { return true },
			Retryable: func(_ *http.Request, resp *http.Response, err error) bool {
				return httpretry.Retryable(resp, err) || resp != nil && resp.StatusCode == http.StatusConflict
			},
		},
	}
}

// ask calls part for each line of the answer.
func ask(ctx context.Context, client *http.Client, url, question string, part func(string)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(question))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")

	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask: %s", resp.Status)
	}

	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		part(lines.Text())
	}
	return lines.Err()
}

// Questions to a language model. The first is refused while the API is overloaded, and asked again. The answer to the
// second stalls: that is an error in time, and the question is not asked again, as a part of the answer has been used.
func Example_languageModel() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if requests == 1 {
			w.WriteHeader(529) // overloaded
			return
		}
		question, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		for _, word := range strings.Fields(string(question)) {
			fmt.Fprintln(w, word)
			w.(http.Flusher).Flush()
			if word == "stall" {
				<-r.Context().Done()
				return
			}
		}
	}))
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	client := newModelClient(100 * time.Millisecond) // so that the example is quick; a model pauses for seconds
	for _, question := range []string{"one two", "three stall four"} {
		err := ask(ctx, client, server.URL, question, func(part string) { fmt.Println("part:", part) })
		fmt.Println("error:", err)
	}
	fmt.Println(requests, "requests")
	// Output:
	// part: one
	// part: two
	// error: <nil>
	// part: three
	// part: stall
	// error: no data within 100ms, after 12 bytes of the response's body
	// 3 requests
}
