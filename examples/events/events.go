// Package events follows a stream of server-sent events, and goes on where the stream broke.
//
// The request is sent many times, with the ID of the last whole event. The server must send IDs: without them, events
// that happen during a break are lost, or come twice. It must also send something in each minute, such as a comment.
// Status 204 says that there are no more events.
package events

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

const (
	maxSize = 1 << 20   // of an event, in bytes
	maxWait = time.Hour // that the stream may ask for
)

var (
	errNoStream = errors.New("events: no stream of events")
	errTooLong  = errors.New("events: an event is too long")
)

// An Event is what the server has sent.
type Event struct {
	ID   string // of this event, or else of the last one that had an ID
	Type string // "message" if the server does not say
	Data string
}

// NewClient returns a client for one server. If base is nil, that is http.DefaultTransport.
func NewClient(base http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: &httpretry.Transport{
			Base:           base,
			AttemptTimeout: 10 * time.Second, // until the stream begins
			BodyTimeout:    time.Minute,      // for each silence: several of the server's heartbeats
			Slots:          new(backoff.Slots),
			MaxAttempts:    1, // Follow makes them
		},
	}
}

// Follow calls handle for each event after the one with the ID last; if that is empty, for what the server sends first. It
// returns nil when the server has no more, and an error when ctx ends or the server does not answer with a stream.
func Follow(ctx context.Context, client *http.Client, url, last string, handle func(Event)) error {
	policy := backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx)
	f := &follower{client: client, url: url, last: last}
	f.handle = func(event Event) {
		handle(event)
		policy.Reset() // the waits are short again
	}
	return backoff.Retry(func() error { return f.attempt(ctx) }, policy)
}

type follower struct {
	client *http.Client
	url    string
	handle func(Event)
	last   string        // the ID of the last whole event
	wait   time.Duration // before the next attempt, at least
}

// attempt reads one stream until it breaks. Its error is nil when the server has no more.
func (f *follower) attempt(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if f.last != "" {
		req.Header.Set("Last-Event-ID", f.last)
	}

	resp, err := f.client.Do(req)
	if err != nil {
		if !httpretry.Retryable(nil, err) {
			return backoff.Permanent(err)
		}
		return backoff.RetryAfter(err, f.wait)
	}
	defer resp.Body.Close()
	content, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && content == "text/event-stream" {
		return f.read(resp.Body)
	}

	io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return nil
	case httpretry.Retryable(resp, nil):
		return backoff.RetryAfter(errors.New(resp.Status), max(f.wait, retryAfter(resp)))
	}
	return backoff.Permanent(fmt.Errorf("%w: %s, %q", errNoStream, resp.Status, content)) // such as a page with a login
}

// read handles the events of a stream. An event is whole when an empty line follows it.
func (f *follower) read(body io.Reader) error {
	lines := &lineReader{Reader: bufio.NewReader(body)}
	event := Event{ID: f.last}
	var data []byte
	for start := true; ; start = false {
		line, err := lines.next(maxSize - len(data))
		if err != nil {
			return backoff.RetryAfter(err, f.wait)
		}
		if start {
			line = strings.TrimPrefix(line, "\ufeff") // a byte order mark
		}

		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			f.last = event.ID
			if len(data) > 0 {
				event.Type = cmp.Or(event.Type, "message")
				event.Data = strings.TrimSuffix(string(data), "\n")
				f.handle(event)
			}
			event = Event{ID: f.last}
			data = nil
		case name == "event":
			event.Type = value
		case name == "data":
			data = append(data, value+"\n"...)
		case name == "id" && !strings.ContainsFunc(value, isControl):
			event.ID = value
		case name == "retry":
			f.heed(value)
		}
	}
}

// heed takes the milliseconds that the server asks for between two attempts.
func (f *follower) heed(value string) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err == nil {
		f.wait = time.Duration(min(n, uint64(maxWait/time.Millisecond))) * time.Millisecond
	}
}

// isControl reports whether r cannot stand in a header: such as NUL, with which an ID is ignored.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// A lineReader reads lines that end with CR, LF, or CR LF.
type lineReader struct {
	*bufio.Reader
	skip bool // the next byte if it is LF, since the last one was CR
}

// next returns the next line, of limit bytes at most. It does not wait for what may follow CR.
func (r *lineReader) next(limit int) (string, error) {
	var line []byte
	for {
		b, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		skip := r.skip && b == '\n'
		r.skip = b == '\r'
		switch {
		case skip:
		case b == '\n' || b == '\r':
			return string(line), nil
		case len(line) >= limit:
			return "", backoff.Permanent(errTooLong)
		default:
			line = append(line, b)
		}
	}
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
