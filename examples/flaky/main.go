// Flaky calls a server that misbehaves, and retries what may be retried.
//
// The server listens on a loopback port. First it fails in five ways, once each. Then it goes down for a
// while, and comes back. All calls share a retry budget: while the server is down, the budget runs out, and
// further calls fail after their first attempt; once the server is back, successes fill it again. At last, many
// calls come at once, and share two slots: the others wait, but no longer than their deadline leaves an
// attempt its whole timeout.
//
// The code to copy is in client.go. Package httpretry does the same, and more, as an http.RoundTripper.
//
// Flaky exits with 0 if each call ended as it should, with 1 if one did not, if it was interrupted or if the
// output could not be written, and with 2 for bad usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/backoff"
)

// pause is the time between two calls.
const pause = 400 * time.Millisecond

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	flags := flag.NewFlagSet("flaky", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { usage(stderr) }

	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "flaky: unexpected argument %q\n", flags.Arg(0))
		return 2
	}

	err = serveAndCall(ctx, stdout)
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "flaky: interrupted")
		return 1
	}
	if err != nil {
		fmt.Fprintln(stderr, "flaky:", err)
		return 1
	}
	return 0
}

// usage prints what the server's pages do.
func usage(w io.Writer) {
	fmt.Fprintln(w, "Flaky calls a server that misbehaves, and retries what may be retried.")
	fmt.Fprintln(w, "It takes no arguments. The server's pages:")
	fmt.Fprintln(w)

	for _, p := range pages() {
		fmt.Fprintf(w, "  %-8s  %s\n", p.path, p.does)
	}
}

// serveAndCall starts the server on a loopback port and runs the demo against it.
func serveAndCall(ctx context.Context, stdout io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	handler := newServer()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(listener)
	}()

	d := newDemo("http://"+listener.Addr().String(), handler, stdout)
	err = d.run(ctx)

	// Close ends the requests that are still waiting for an answer. Then Serve returns.
	closeErr := server.Close()
	serveErr := <-served
	if errors.Is(serveErr, http.ErrServerClosed) {
		serveErr = nil
	}
	return errors.Join(err, closeErr, serveErr)
}

// demo is what the program shows: a client, a server, and what happens between them.
type demo struct {
	client *client
	server *server
	report *report
}

// newDemo returns a demo of a client of s, which listens at address. It reports on stdout.
func newDemo(address string, s *server, stdout io.Writer) *demo {
	budget := new(backoff.Budget)
	r := &report{
		w:      stdout,
		start:  time.Now(),
		budget: budget,
	}
	return &demo{
		client: newClient(address, budget, r.retry),
		server: s,
		report: r,
	}
}

// run shows everything. It ends early if a call does not end as it should.
func (d *demo) run(ctx context.Context) error {
	d.report.print("At most %d calls are in progress at once, of at most %d attempts of %v each.\n"+
		"Their budget has %d tokens: a retry takes %d, and returns them if it succeeds;\n"+
		"any other success adds %d.\n",
		slots, maxRetries+1, attemptTimeout, d.report.budget.Tokens(),
		backoff.DefaultRetryCost, backoff.DefaultSuccessRefund)

	acts := []func(context.Context) error{d.failures, d.outage, d.recovery, d.crowd}
	for _, act := range acts {
		err := act(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// failures calls each page that misbehaves.
func (d *demo) failures(ctx context.Context) error {
	d.report.heading("The server is up, and misbehaves.")

	for _, p := range pages() {
		err := d.call(ctx, p.path, p.want)
		if err != nil {
			return err
		}
	}
	return nil
}

// outage calls a page while the server is down: until the budget is empty, and then twice more.
func (d *demo) outage(ctx context.Context) error {
	d.report.heading("The server goes down.")
	d.server.down.Store(true)
	before := d.server.requests.Load()

	wants := []error{
		errNoRetriesLeft,           // after three retries
		backoff.ErrBudgetExhausted, // after two
		backoff.ErrBudgetExhausted, // after none
		backoff.ErrBudgetExhausted,
	}
	for _, want := range wants {
		err := d.call(ctx, "/news", want)
		if err != nil {
			return err
		}
	}

	requests := d.server.requests.Load() - before
	d.report.event("%d calls made %d requests. Without the budget they would have made %d.",
		len(wants), requests, len(wants)*(maxRetries+1))
	return nil
}

// recovery calls a page of the server that is up again, until the successes can pay for a retry, and then a
// page that needs one.
func (d *demo) recovery(ctx context.Context) error {
	d.report.heading("The server is back.")
	d.server.down.Store(false)

	const successes = backoff.DefaultRetryCost / backoff.DefaultSuccessRefund
	for range successes {
		err := d.call(ctx, "/news", nil)
		if err != nil {
			return err
		}
	}
	return d.call(ctx, "/busy", nil)
}

// crowd makes more calls at once than there are slots, with a deadline that the last of them cannot meet.
func (d *demo) crowd(ctx context.Context) error {
	const calls = 8
	const deadline = attemptTimeout + 5*workTime/2
	d.report.heading(fmt.Sprintf("%d calls come at once, each with a deadline of %v.", calls, deadline))
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()

	results := make(chan error, calls)
	for range calls {
		go func() {
			_, err := d.client.get(ctx, "/report")
			results <- err
		}()
	}

	var answered, refused int
	for range calls {
		switch err := <-results; {
		case err == nil:
			answered++
		case errors.Is(err, backoff.ErrNoSlot):
			refused++
		default:
			return fmt.Errorf("/report ended with the error %w", err)
		}
	}

	d.report.event("%d were answered. %d found no slot while an attempt had time left.", answered, refused)
	most := d.server.most.Load()
	d.report.event("The server never worked on more than %d at once.", most)
	if most > slots {
		return fmt.Errorf("%d slots let %d calls through at once", slots, most)
	}
	return nil
}

// call gets a page, reports how that ended, and returns an error unless it ended with want.
func (d *demo) call(ctx context.Context, path string, want error) error {
	body, err := d.client.get(ctx, path)
	d.report.result(path, body, err)

	switch {
	case d.report.err != nil:
		return fmt.Errorf("output: %w", d.report.err)
	case !errors.Is(err, want):
		return fmt.Errorf("%s ended with the error %v, want %v", path, err, want)
	}

	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
