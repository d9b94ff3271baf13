//go:build unix

// Real measures what retries do to real servers in trouble, on this machine and in real time.
//
// An HTTP server works on eight requests at once, each of which sleeps for an exponentially distributed time of
// 100 ms on average. So it can answer 80 requests a second. Most servers sleep in PostgreSQL, by pg_sleep over
// eight connections. Five client processes begin operations at random times, together -load of that capacity.
// Each operation is a call of a Retrier: attempts of at most 1 s, three retries with the default waits if any,
// and a deadline of 5 s. It posts a small body, which the handler reads, if its row does not say otherwise.
// -from the start on, the server is in -trouble for -down: it is stopped by SIGSTOP, or all its work takes twice as
// long (half). A cell is the share of the operations begun in -duration that are lost, and how long after the trouble
// 90 % of the operations begun in every five seconds succeed again.
//
// The processor is almost idle, so several cells are measured side by side: -lanes, which begin at different
// times, each with a server and clients of its own. PostgreSQL is found in PATH or in Debian's folder; the rows
// that need it are left out where it is missing. All listens on loopback addresses or Unix sockets, and all
// processes end with the command, however that ends.
//
// Real exits with 0 after success, with 1 if a measurement fails or its counts contradict each other, and
// with 2 for bad usage.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// roles are the processes that the command starts. Each is the same program, with its role and a cell in JSON as
// its arguments.
var roles = map[string]func(cell) error{
	"client":   runClient,
	"server":   runServer,
	"guard":    guardServer,
	"postgres": guardPostgres,
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 2 && roles[args[0]] != nil {
		return runRole(args[0], args[1])
	}

	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		waitForParent()
		cancel(errors.New("the process that started this one has ended"))
	}()

	if err := measure(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "real:", err)
		return 1
	}
	return 0
}

// runRole is what the processes do that the command has started.
func runRole(role, encoded string) int {
	var c cell
	err := json.Unmarshal([]byte(encoded), &c)
	if err == nil {
		err = roles[role](c)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "real %s: %v\n", role, err)
		return 1
	}
	return 0
}

// waitForParent returns when the process that started this one has ended. That is usually "go run", which passes
// no SIGTERM on.
func waitForParent() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
}
