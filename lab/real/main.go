//go:build unix

// Real measures what retries do to real servers in trouble, on this machine and in real time.
//
// An HTTP server works on eight requests at once, each of which takes an exponentially distributed time of 100 ms on
// average, for which it sleeps. So it can answer 80 requests a second. Five clients begin operations at random times,
// together some share of that capacity. Each operation is a call of its client's Retrier: attempts of at most 1 s,
// three retries with the default waits if any, and a deadline of 5 s. It posts a small body. A cell of the table has
// what is lost of the operations that begin from the trouble on, until -after it: in seconds, in which so many begin, and
// in per cent. With several seeds these are ranges.
//
// # Troubles
//
// Each has its usual load and duration, and may have others: half:180s@0.6.
//
//	down     the server is stopped by SIGSTOP, for 10 s, at load 0.8
//	restart  and half of that time later the clients end, with what they have in progress, and new ones begin
//	crowd    the server is stopped, and from then on there are four times the clients, which share the operations
//	half     all work takes twice as long, for a minute, at load 0.8
//	fail     30 % of the requests are answered with 500 after their work, until the end, at load 0.6
//	hang     one of three servers of three workers each is stopped, for a minute, at load 0.6; a proxy sends requests to
//	         each in turn
//	none     nothing, at load 0.9
//
// # Measuring
//
// The work needs next to no processor time, so cells are measured side by side, in lanes that begin at different
// times, each with a server and clients of its own. Operations that begin late show that the machine is too busy. All
// listens on loopback addresses, and all servers end with the command, however that ends. Standard error says what
// happens meanwhile, and what each cell has come to.
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
	"strings"
	"syscall"
	"time"

	"example.com/backoff/lab/command"
	"example.com/backoff/lab/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 3 && args[0] == serve {
		return runServer(args[1], args[2], stdout, stderr)
	}
	return command.Run("real", args, stderr, parse, func(o options) error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return measure(ctx, o, stdout, stderr)
	})
}

// options are the flags.
type options struct {
	cell          // what all cells have in common
	servers, ways []string
	troubles      []trouble
	seeds, lanes  int
}

// parse reads the flags, and says to stderr what is wrong with them.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("real", flag.ContinueOnError)
	flags.SetOutput(stderr)
	servers := flags.String("server", "fifo", "`servers`, separated by commas: "+report.Names(rows))
	troubles := flags.String("trouble", usualTroubles, "`troubles`, separated by commas: "+report.Names(kinds)+
		";\nwith a duration after a colon, and a load after an @, if they are not the usual ones")
	columns := flags.String("way", "none,retries,budget,slots,slots-budget,number",
		"`ways` to call, separated by commas: "+report.Names(ways))
	flags.DurationVar(&o.from, "from", 30*time.Second, "`time` before the trouble")
	flags.DurationVar(&o.after, "after", 50*time.Second, "`time` after the trouble in which operations begin")
	flags.DurationVar(&o.answer, "answer", 0, "`time` that each answer takes; zero: that of its work, which varies")
	flags.IntVar(&o.seeds, "seeds", 2, "`number` of seeds of the random times")
	flags.IntVar(&o.lanes, "lanes", 12, "`number` of cells that are measured side by side")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	var err1, err2, err3 error
	o.servers, err1 = choose(rows, *servers)
	o.troubles, err2 = parseTroubles(*troubles)
	o.ways, err3 = choose(ways, *columns)
	err = errors.Join(err1, err2, err3, o.check(flags.NArg()))
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
	}
	return o, err
}

func (o options) check(rest int) error {
	switch {
	case rest > 0:
		return errors.New("arguments that are no flags")
	case o.from < 0 || o.after < time.Second:
		return errors.New("-from is below zero, or -after below a second")
	case o.answer != 0 && o.answer < meanWork:
		return fmt.Errorf("-answer is below %v", meanWork)
	case o.seeds < 1 || o.lanes < 1:
		return errors.New("-seeds or -lanes is below 1")
	}
	return nil
}

// choose returns the names in a list.
func choose[T any](from map[string]T, list string) ([]string, error) {
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if _, ok := from[name]; !ok {
			return nil, fmt.Errorf("%q is none of %s", name, report.Names(from))
		}
	}
	return chosen, nil
}
