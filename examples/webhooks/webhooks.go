// Package webhooks delivers webhooks to many hosts, of which some hang and some are down for days.
//
// A webhook may be delivered twice. Its ID lets the receiver recognise it. The retries take days, so a queue that knows
// when each webhook is due makes them, and each delivery is one attempt. A host that hangs takes ten of the hundred
// workers. There are no Slots: they would hold for all hosts together.
package webhooks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"example.com/backoff"
)

const (
	workers     = 100
	perHost     = 10
	maxFailures = 16             // about four days
	maxWait     = 24 * time.Hour // that a host may ask for
)

// A Webhook is what a host is to know.
type Webhook struct {
	ID       string
	URL      string
	Body     []byte
	Failures int
}

// A Queue keeps webhooks until they are due. It is safe for concurrent use.
type Queue interface {
	Next(ctx context.Context) (*Webhook, error)     // waits for one that is due
	PutOff(hook *Webhook, wait time.Duration) error // keeps it, with its Failures, until wait is over
	Done(hook *Webhook) error                       // it is delivered
	GiveUp(hook *Webhook, err error) error          // it never was
}

// NewClient returns a client for all hosts. If base is nil, that is http.DefaultTransport.
func NewClient(base http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:       5 * time.Second,
		CheckRedirect: noRedirect,
		Transport:     base,
	}
}

// noRedirect makes a redirect an error: net/http would follow some with a GET.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Deliver delivers what is in queue until ctx ends or queue returns an error. It returns the reason.
func Deliver(ctx context.Context, client *http.Client, queue Queue) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &sender{client: client, queue: queue, busy: make(map[string]int)}
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			end(s.work(ctx))
		}()
	}
	group.Wait()
	return context.Cause(ctx)
}

type sender struct {
	client *http.Client
	queue  Queue

	mu   sync.Mutex
	busy map[string]int // how many deliveries to a host are in progress
}

// work delivers until ctx ends or the queue returns an error.
func (s *sender) work(ctx context.Context) error {
	for {
		hook, err := s.queue.Next(ctx)
		if err != nil {
			return err
		}
		err = s.deliver(ctx, hook)
		if err != nil {
			return err
		}
	}
}

// deliver makes one attempt, unless many are in progress to the same host. Its error is the queue's.
func (s *sender) deliver(ctx context.Context, hook *Webhook) error {
	target, err := url.Parse(hook.URL)
	if err != nil {
		return s.queue.GiveUp(hook, err)
	}
	if !s.begin(target.Host) {
		return s.queue.PutOff(hook, rand.N(time.Minute))
	}
	asked, err := s.send(ctx, hook)
	s.end(target.Host)
	switch {
	case err == nil:
		return s.queue.Done(hook)
	case ctx.Err() != nil: // the program stops, which is no failure of the host's
		return s.queue.PutOff(hook, 0)
	}

	hook.Failures++
	if hook.Failures >= maxFailures {
		return s.queue.GiveUp(hook, err)
	}
	wait := time.Minute << min(hook.Failures-1, 9)
	wait += rand.N(wait)
	return s.queue.PutOff(hook, max(wait, min(asked, maxWait)))
}

// begin reports whether one more delivery to host may begin. If so, end must follow.
func (s *sender) begin(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[host] >= perHost {
		return false
	}
	s.busy[host]++
	return true
}

func (s *sender) end(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[host]--
	if s.busy[host] == 0 {
		delete(s.busy, host)
	}
}

// send sends a hook once. If that fails, it also returns the wait that the host asks for.
func (s *sender) send(ctx context.Context, hook *Webhook) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(hook.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Webhook-Id", hook.ID)

	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
	if resp.StatusCode < 300 {
		return 0, nil
	}
	return retryAfter(resp), errors.New(resp.Status)
}

// retryAfter returns the wait that resp asks for. A date is by the server's clock, as that of the response is.
func retryAfter(resp *http.Response) time.Duration {
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	return wait
}
