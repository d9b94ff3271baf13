// Package stream asks a language model, and reads its answer as it comes.
//
// A question may be asked twice: a second answer costs money, but does no harm. It is asked again until the answer begins,
// and never after that. The server must answer with server-sent events, and send "data: [DONE]" last, as OpenAI's API and
// those like it do. If you use a client of such an API, which retries by itself, turn that off.
package stream

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// NewClient returns a client for one model. If base is nil, that is http.DefaultTransport.
func NewClient(base http.RoundTripper) *http.Client {
	return &http.Client{
		CheckRedirect: noRedirect,
		Transport: &httpretry.Transport{
			Base:           base,
			AttemptTimeout: 2 * time.Minute, // until the answer begins
			BodyTimeout:    time.Minute,     // for each silence after that
			Slots:          new(backoff.Slots),
			MaxAttempts:    11, // an overload takes minutes
			MaxRetryAfter:  10 * time.Minute,
			Idempotent:     func(*http.Request) bool { return true },
		},
	}
}

// noRedirect makes a redirect an error: net/http would follow some with a GET.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Ask calls print for each line of the answer. If it returns an error, the answer is not complete. Give ctx a deadline of
// several AttemptTimeouts, such as 15 minutes.
func Ask(ctx context.Context, client *http.Client, url string, question []byte, print func(line string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(question))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")

	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || content != "text/event-stream" {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // all of it, so that the connection is used again
		return fmt.Errorf("stream: %s: %.500s", resp.Status, text)
	}

	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20) // a line may be long
	for lines.Scan() {
		if lines.Text() == "data: [DONE]" {
			time.AfterFunc(time.Second, cancel) // if the server does not end the body
			io.Copy(io.Discard, resp.Body)      // so that the connection is used again
			return nil
		}
		print(lines.Text())
	}
	return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
}
