//go:build unix

// Real measures what retries do to real servers in trouble, on this machine and in real time.
//
// An HTTP server works on eight requests at once, each of which sleeps for an exponentially distributed time of
// 100 ms on average. So it can answer 80 requests a second. Most servers sleep in PostgreSQL, by pg_sleep over
// eight connections. Five clients begin operations at random times, together 60 or 80 % of that capacity. Each
// operation is a call of its client's Retrier: attempts of at most 1 s, three retries with the default waits if any,
// and a deadline of 5 s. It posts a small body. -from the start on, the server is stopped by SIGSTOP, for -down. A cell
// is the share of the operations begun in -duration that are lost.
//
// The work needs next to no processor time, so cells are measured side by side, in lanes that begin at different
// times, each with a server and clients of its own. PostgreSQL is found in PATH or in Debian's folder; the rows
// that need it are left out where it is missing. All listens on loopback addresses or Unix sockets, and all
// processes end with the command, however that ends. Standard error says what happens meanwhile.
//
// Real exits with 0 after success, with 1 if a measurement fails, and with 2 for bad usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 3 && args[0] == serve {
		return runServer(args[1], args[2], stdout, stderr)
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

// waitForParent returns when the process that started this one has ended. That is usually "go run", which passes
// no SIGTERM on.
func waitForParent() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
}

// options are the flags.
type options struct {
	cell             // what all cells have in common
	servers, clients []string
}

// loads are the shares of the capacity that the operations need, each in a table of its own.
var loads = []float64{0.6, 0.8}

// parse reads the flags, and says to stderr what is wrong with them.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("real", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rows := flags.String("server", "all", "the rows, separated by commas: "+strings.Join(serverNames, ", "))
	columns := flags.String("client", "all", "the columns, separated by commas: "+strings.Join(clientNames, ", "))
	flags.DurationVar(&o.from, "from", 10*time.Second, "when the server is stopped")
	flags.DurationVar(&o.down, "down", 10*time.Second, "for how long")
	flags.DurationVar(&o.duration, "duration", 62*time.Second, "how long operations begin")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	var err1, err2 error
	o.servers, err1 = choose(serverNames, *rows)
	o.clients, err2 = choose(clientNames, *columns)
	err = errors.Join(err1, err2, o.check(flags.NArg()))
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
	}
	return o, err
}

func (o options) check(rest int) error {
	switch {
	case rest > 0:
		return errors.New("arguments that are no flags")
	case o.from < 0 || o.down <= 0 || o.from+o.down > o.duration || o.duration > time.Hour:
		return errors.New("-from and -down do not fit into -duration, which is at most an hour")
	}
	return nil
}

// choose returns the names in a list, or all.
func choose(all []string, list string) ([]string, error) {
	if list == "all" {
		return all, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}
