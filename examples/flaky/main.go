// Flaky calls a server that misbehaves, and retries what may be retried.
//
// The server listens on a loopback port. First it fails in five ways. Then it goes down for a while, and comes
// back. All calls share a retry budget: while the server is down, the budget runs out, and further calls fail after
// their first attempt; once the server is back, successes fill it again. At last, many calls come at once, and
// share two slots: the others wait, but no longer than their deadline leaves an attempt its whole timeout.
//
// The code to copy is in client.go. Package httpretry does the same, and more, as an http.RoundTripper.
//
// Flaky exits with 1 if a call did not end as it should.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"example.com/backoff"
)

// pause is the time between two calls.
const pause = 400 * time.Millisecond

func main() {
	log.SetFlags(0)

	err := serveAndCall()
	if err != nil {
		log.Fatal("flaky: ", err)
	}
}

// serveAndCall starts the server on a loopback port and runs the demo with it.
func serveAndCall() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := newServer()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	return newDemo("http://"+listener.Addr().String(), handler, os.Stdout).run(ctx)
}

// demo is a client and a server, and what happens between them, in lines of text.
type demo struct {
	client *client
	server *server
	out    io.Writer
	start  time.Time
	err    error // of the first call that did not end as it should; after it, nothing is called or printed
}

// newDemo returns a demo of s, which listens at address.
func newDemo(address string, s *server, out io.Writer) *demo {
	d := &demo{
		client: newClient(address),
		server: s,
		out:    out,
		start:  time.Now(),
	}
	d.client.onRetry = d.retry
	return d
}

// run shows everything.
func (d *demo) run(ctx context.Context) error {
	fmt.Fprintf(d.out, "At most %d calls are in progress at once, of at most 4 attempts of %v each.\n"+
		"Their budget has %d tokens: a retry takes 5, and returns them if it succeeds;\n"+
		"any other success adds 1.\n",
		slots, attemptTimeout, d.client.retrier.Budget.Tokens())

	d.heading("The server is up, and misbehaves.")
	d.call(ctx, nil, "/busy", "/limited", "/slow", "/dropped")
	d.call(ctx, statusError(http.StatusNotFound), "/missing")

	d.heading("The server goes down.")
	d.server.down.Store(true)
	before := d.server.requests.Load()
	d.call(ctx, backoff.ErrRetriesExhausted, "/news") // after three retries; the others after two, none and none
	d.call(ctx, backoff.ErrBudgetExhausted, "/news", "/news", "/news")
	requests := d.server.requests.Load() - before
	d.print("4 calls made %d requests. Without the budget they would have made 16.", requests)

	d.heading("The server is back.")
	d.server.down.Store(false)
	d.call(ctx, nil, "/news", "/news", "/news", "/news", "/news", "/busy")

	d.crowd(ctx, 8, attemptTimeout+5*workTime/2)
	return d.err
}

// crowd makes more calls at once than there are slots, with a deadline that the last of them cannot meet.
func (d *demo) crowd(ctx context.Context, calls int, deadline time.Duration) {
	d.heading("%d calls come at once, each with a deadline of %v.", calls, deadline)
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()

	results := make(chan error, calls)
	for range calls {
		go func() {
			_, err := d.client.get(ctx, "/report")
			results <- err
		}()
	}

	refused := 0
	for range calls {
		err := <-results
		if errors.Is(err, backoff.ErrNoSlot) {
			refused++
			continue
		}
		d.expect("/report", err, nil)
	}
	d.print("%d were answered. %d found no slot while an attempt had time left.", calls-refused, refused)
	d.print("The server never worked on more than %d at once.", d.server.most.Load())
}

// call gets pages, one after the other. Each call should end with want.
func (d *demo) call(ctx context.Context, want error, paths ...string) {
	for _, path := range paths {
		if d.err != nil {
			return
		}
		body, err := d.client.get(ctx, path)
		if err == nil {
			d.print("%s ok, %d bytes", d.prefix(path), len(body))
		} else {
			d.print("%s failed: %v", d.prefix(path), err)
		}
		d.expect(path, err, want)

		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// expect sets d.err unless a call has ended with want.
func (d *demo) expect(path string, err, want error) {
	if d.err == nil && !errors.Is(err, want) {
		d.err = fmt.Errorf("%s ended with the error %v, want %v", path, err, want)
	}
}

// retry prints a failed attempt, and the wait before the next.
func (d *demo) retry(path string, attempt int, err error, wait time.Duration) {
	d.print("%s attempt %d: %v, wait %.2fs", d.prefix(path), attempt, err, wait.Seconds())
}

// prefix returns what a line about a call begins with: the tokens that are left, and the path.
func (d *demo) prefix(path string) string {
	return fmt.Sprintf("budget %2d  %-8s ", d.client.retrier.Budget.Tokens(), path)
}

// heading prints a line after an empty one.
func (d *demo) heading(format string, args ...any) {
	if d.err == nil {
		fmt.Fprintln(d.out)
	}
	d.print(format, args...)
}

// print prints a line, with the time since start.
func (d *demo) print(format string, args ...any) {
	if d.err == nil {
		fmt.Fprintf(d.out, "%4.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
	}
}
