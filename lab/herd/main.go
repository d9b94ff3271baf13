// Herd simulates programs that call a service in trouble, and counts what they lose. The calls are made by this
// library, in goroutines whose time is simulated by testing/synctest: nothing sleeps, and the same command
// prints the same figures. Herd -h lists the flags.
//
// # The service
//
// The service can do so many requests in a second. Their work is exponentially distributed, and an answer takes -answer
// besides. It works through a queue without limit in order, whether or not clients still wait. The model is that of the
// metastable failure in Bronson et al., "Metastable Failures in Distributed Systems" (HotOS 2021). Flags make it other
// kinds of service: one that takes the newest request first, that works on all at once, that refuses what would wait
// too long, or that drops the work of clients that have left.
//
// After -from it gets into a -trouble. Where one of several backends is in trouble, each has a queue of its own and an
// equal part of the capacity.
//
// A client gives an attempt up after -timeout, and a call at its -deadline. A call is lost if it returns an error that
// is not final, or has not ended as long again after the last calls have begun. What is lost is shown in seconds: for so
// long as many calls usually begin as are lost. (Per cent of all calls depend on how long a simulation goes on.)
//
// # The programs
//
// The programs have a -shape. A handler's calls begin at random times, and have a deadline of 5 s. Events begin at
// random times too, and can wait. A loop has -size workers, each of which makes a call, pauses, and makes the next one.
// A burst is of calls with that deadline, which begin within a second; each process has made one call before, and then
// none for -from. A batch begins all its calls with the trouble, and so do devices, which lose their connections then,
// each in a process of its own, beside the requests of others. A tool has a process for each call.
//
// The ways to call the service are Retriers: slots that size themselves are beside slots by number, which are those
// that somebody makes who knows how many calls each process makes.
//
// # The scenarios
//
// Programs is the usual one. Variations are handlers, or services, with something else varied in each row. In
// contention, clients compete to write one row of a database.
//
// Herd exits with 0 after success, with 1 if the results cannot be written, and with 2 for bad usage.
package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"testing"

	"example.com/backoff/lab/command"
)

// scenarios are functions that simulate something, and write what it comes to.
var scenarios = map[string]func(config, io.Writer) error{
	"programs":   writePrograms,
	"variations": writeVariations,
	"contention": writeContention,
}

func main() {
	testing.Init() // for synctest
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	return command.Run("herd", args, stderr, parse, func(c config) error {
		out := bufio.NewWriter(stdout)
		return errors.Join(scenarios[c.scenario](c, out), out.Flush())
	})
}
