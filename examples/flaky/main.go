// Flaky calls a server that misbehaves, and retries what may be retried.
//
// The server listens on a loopback port. The program takes some ten seconds:
//
//   - The server is busy, limits the rate, is slow, drops a connection, and does not know a page. The client tries again,
//     except after the last of these.
//   - The server goes down. A call makes four attempts, and gives up. Then the server is back.
//   - The server hangs while ten calls come in each second. All calls share slots. When attempts run out of time, most
//     calls wait in line, and are made when the server answers again.
//
// The code to copy is in client.go.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"example.com/backoff"
)

// pause is the time between two calls.
const pause = 400 * time.Millisecond

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("flaky: ", err)
	}
	run(context.Background(), listener, new(http.Transport), os.Stdout)
}

// run serves on listener, calls the server by base, and shows what happens.
func run(ctx context.Context, listener net.Listener, base http.RoundTripper, out io.Writer) {
	handler := &server{requests: make(map[string]int)}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	transport := newTransport(base)
	d := &demo{
		client: newClient(transport),
		server: "http://" + listener.Addr().String(),
		slots:  transport.Slots,
		out:    out,
		start:  time.Now(),
	}
	transport.Notify = d.retry
	defer transport.CloseIdleConnections()

	fmt.Fprintf(out, "A call makes at most 4 attempts of %v each, and takes at most %v.\n\n", attemptTimeout, callTimeout)

	d.print("The server is up, and misbehaves.")
	d.call(ctx, "/busy", "/limited", "/slow", "/dropped", "/missing")

	fmt.Fprintln(out)
	d.print("The server goes down.")
	handler.down.Store(true)
	d.call(ctx, "/news")

	fmt.Fprintln(out)
	d.print("The server is back.")
	handler.down.Store(false)
	d.call(ctx, "/news")

	fmt.Fprintln(out)
	transport.Notify = nil
	d.hang(ctx, handler)
}

// demo is a client that says what it does, in lines of text.
type demo struct {
	client *http.Client
	server string // its URL
	slots  *backoff.Slots
	out    io.Writer
	start  time.Time
}

// call gets pages, one after the other.
func (d *demo) call(ctx context.Context, paths ...string) {
	for _, path := range paths {
		page, err := get(ctx, d.client, d.server+path)
		if err != nil {
			d.print("%-8s  failed: %v", path, err)
		} else {
			d.print("%-8s  ok, %d bytes", path, len(page))
		}
		time.Sleep(pause)
	}
}

// retry prints a failed attempt, and the wait before the next.
func (d *demo) retry(req *http.Request, attempt int, err error, wait time.Duration) {
	d.print("%-8s  attempt %d: %v, wait %.2fs", req.URL.Path, attempt, err, wait.Seconds())
}

// hang lets the server hang while calls come, and shows how the slots keep most of them waiting until it answers again.
func (d *demo) hang(ctx context.Context, handler *server) {
	d.print("The server hangs, and 10 calls come in each second.")
	handler.hangs.Store(true)
	const calls = 25
	results := d.crowd(ctx, calls, time.Second/10)
	d.print("%d calls have come. The slots let %d run at once, and %d wait in line.",
		calls, d.slots.Limit(), d.slots.Waiting())

	handler.hangs.Store(false)
	d.print("The server answers again.")
	failed := failures(results, calls)
	d.print("%d calls have succeeded, and %d have failed.", calls-failed, failed)
}

// crowd begins calls, one after each pause. It returns the channel that gets their errors, as they end.
func (d *demo) crowd(ctx context.Context, calls int, pause time.Duration) <-chan error {
	results := make(chan error, calls)
	for range calls {
		go func() {
			_, err := get(ctx, d.client, d.server+"/report")
			results <- err
		}()
		time.Sleep(pause)
	}
	return results
}

// failures returns how many of the next n results are errors.
func failures(results <-chan error, n int) int {
	failed := 0
	for range n {
		if <-results != nil {
			failed++
		}
	}
	return failed
}

// print prints a line, with the time since start.
func (d *demo) print(format string, args ...any) {
	fmt.Fprintf(d.out, "%4.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}
