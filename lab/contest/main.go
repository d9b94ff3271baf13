// Contest compares what protects a service from its clients: this library beside those that somebody might take
// instead. All run against the same service, in goroutines whose time is simulated by testing/synctest. Contest -h lists
// the flags. With two or three scenes and ways it takes seconds; everything takes some ten minutes of a processor.
//
//	contest                                                       # all ways in all scenes
//	contest -settings best -ways short -scenes short              # those that matter most
//	contest -settings all                                         # which setting of each way is the best
//	contest -ways slots,gradient2 -scenes down10,half60 -seeds 1  # some
//
// # The service and its clients
//
// The service can do 100 requests in a second. It works through a queue without limit in order, whether or not clients
// still wait, as in the model of Bronson et al., "Metastable Failures in Distributed Systems" (HotOS 2021). The work of
// a request is exponentially distributed. Five processes call it, at random times and with load 0.8. An attempt has 1 s
// and a call 5 s. An attempt fails in one of two ways: it is late, or it is refused.
//
// The calls that count begin from the trouble on, until a minute after it. A call is lost if it returns an error. Losses
// are shown in per cent of these calls, and as seconds of the traffic before the trouble. With the same seed all ways
// get the same calls.
//
// Contest prints what the scenes are. In those of a healthy day, fifty calls begin at once every 20 s. In twice, the
// processes that set numbers know of the traffic to come; in traffic4 they do not. Who sets a number of calls at once
// knows the right one, except where it is written: three quarters of the calls that a process makes in a second × the
// timeout of an attempt.
//
// # The settings
//
// The first setting of each way is the one of its documentation or its example. The best one loses least on average over
// all scenes, of those that were tried, which are all in the code. Contest -settings all chooses it. All releases are
// pinned in go.mod.
//
//	semaphore            a channel, with three retries inside. The right number is the best, if a call stops waiting
//	                     while there is still time for an attempt.
//	v7                   cenkalti/backoff v7, five tries in its README. Two are the best: retries only add to the load.
//	v7-breaker           and v5-breaker: sony/gobreaker around each attempt of v7 or v5. It is best if it looks at ten
//	                     seconds, opens for one, and calls that find it open are not retried. In its example it looks at
//	                     all calls since it last closed, so good ones long ago keep it closed.
//	failsafe             failsafe-go's retries alone. The default, two retries without waits, is the best, because it
//	                     makes one attempt fewer than three retries.
//	failsafe-budget      is best with half of the default budget.
//	failsafe-limiter     the adaptive limiter is best around the whole call, where it counts a call once, with a small
//	                     first limit and a long queue. By default it refuses, and each refusal is retried.
//	failsafe-throttler   is best if it looks at ten seconds, and if what it refuses is not retried.
//	failsafe-breaker     is best if it looks at ten seconds and opens for about five. In its documentation it opens for a
//	                     minute.
//	failsafe-bulkhead    needs a number. Five calls in each process are the best, by little: the right number and ten do
//	                     better where attempts hang.
//	gradient2            one of Netflix's limits, in go-concurrency-limits, with vegas and aimd. Quick windows and no
//	                     minimum of 20 are the best, around the whole call or, nearly as good, around each attempt. By
//	                     default a process never has a limit below 20.
//	vegas                is best with a limit of at most 20, around the whole call.
//	aimd                 is recommended for clients by its documentation. Its default is the best: backing off by half,
//	                     with quick windows, loses as much, less in outages and more where attempts hang.
//	aws-standard         the AWS SDK for Go. It is best with a fifth of its tokens: fewer retries in trouble.
//	aws-adaptive         is best if timeouts count as throttling. By default only answers that say so count.
//	grpc                 the service config of gRPC's guide. gRPC-Go has no timeout for an attempt: a call with its 5 s
//	                     is better than one with 1 s.
//	retryablehttp        go-retryablehttp. It is best with one retry in place of four.
//
// Our own ways have no settings: new(Slots) alone and with new(Budget), new(Budget) alone, and NewSlots with the right
// number.
//
// # Random numbers
//
// The waits of all ways are seeded: libraries that take a function for them get one with their own distribution. What
// has a global source of random numbers is not: the refusals of failsafe's limiter and throttler, the waits of gRPC, and
// when vegas probes. Their figures change by a point or two from one run to the next, as they do from seed to seed.
// Calls that wait for Netflix's limits or for AWS's tokens go on in no fixed order when many end at once. That changes
// less, but for AWS where one of five servers hangs: there it is some 59 to 64 s of traffic. All others print the same
// figures each time.
//
// The adaptive mode of AWS waits for a token itself, but it rounds the wait down, in the end to nothing, in which simulated
// time stands still. So it fails without a token, and is asked again every 20 ms.
//
// Netflix's limits are told nothing of attempts that were refused. That is kind to them: a dropped attempt would lower
// the limit of aimd and vegas, though nothing is overloaded.
//
// Contest exits with 0 after success, with 1 if the results cannot be written, and with 2 for bad usage.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/backoff/lab/command"
)

func main() {
	testing.Init() // for synctest
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	return command.Run("contest", args, stderr, parse, func(o options) error {
		o.play()
		out := bufio.NewWriter(stdout)
		return errors.Join(o.write(out), out.Flush())
	})
}

// Which settings of a way take part.
const (
	best  = "best"
	both  = "two"
	every = "all"
)

// options are the flags.
type options struct {
	plan     // what all scenes have in common
	scenes   []scene
	entries  []*entry
	seeds    int
	settings string // which of each way
	out      string // the file for the figures of each run, if there is to be one
}

// parse reads the flags, and says to stderr what is wrong with them.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("contest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	inScenes := flags.String("scenes", "all", "`scenes`, separated by commas, or all, or short: those that matter most")
	inWays := flags.String("ways", "all", "`ways`, separated by commas, or all, or short: those that matter most")
	flags.StringVar(&o.settings, "settings", both, "`which` settings of each way: best, two (that of its documentation, and the best),\n"+
		"or all, to compare them over the scenes")
	flags.IntVar(&o.seeds, "seeds", 3, "`number` of seeds of the random numbers; figures are means")
	flags.Float64Var(&o.load, "load", 0.8, "`load` before the trouble, as a share of what the service can do")
	flags.IntVar(&o.procs, "procs", 5, "`number` of processes")
	flags.DurationVar(&o.work, "work", 20*time.Millisecond, "how `long` a worker works on a request, on average; from 0.1 s on requests are much alike")
	flags.DurationVar(&o.before, "before", time.Minute, "for how `long` calls begin before the trouble")
	flags.DurationVar(&o.after, "after", time.Minute, "for how `long` calls that begin after the trouble count")
	flags.StringVar(&o.out, "out", "", "write the figures of each run to this `file`, separated by tabs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	o.scenes, err = choose(scenes, func(s scene) string { return s.name }, *inScenes, shortScenes)
	chosen, err2 := choose(allWays(), func(w way) string { return w.name }, *inWays, shortWays)
	for _, w := range chosen {
		o.entries = append(o.entries, w.entries(o.settings)...)
	}
	err = errors.Join(err, err2, o.check(flags.NArg()))
	if err != nil {
		fmt.Fprintln(stderr, "contest:", err)
	}
	return o, err
}

func (o options) check(rest int) error {
	switch {
	case rest > 0:
		return errors.New("arguments that are no flags")
	case o.settings != best && o.settings != both && o.settings != every:
		return errors.New("-settings is not two, best or all")
	case !(o.load >= 0.01 && o.load <= 1):
		return errors.New("-load is not from 0.01 to 1")
	case o.seeds < 1 || o.procs < 1 || o.procs > 1000:
		return errors.New("-seeds is below 1, or -procs is not from 1 to 1000")
	case o.work < time.Millisecond || o.work >= timeout:
		return fmt.Errorf("-work is not from 1ms to below %v", timeout)
	case o.before < time.Second || o.after < time.Second:
		return errors.New("-before or -after is below a second")
	}
	return nil
}

// allWays returns all ways, in the order of the table.
func allWays() []way { return slices.Concat(ways, failsafeWays, netflixWays, clientWays) }

// choose returns what a list of names means.
func choose[T any](from []T, name func(T) string, list, short string) (chosen []T, err error) {
	switch list {
	case "all":
		return from, nil
	case "short":
		list = short
	}
	var names []string
	for _, one := range from {
		names = append(names, name(one))
	}
	for wanted := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, wanted)
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %s", wanted, strings.Join(names, ", "))
		}
		chosen = append(chosen, from[i])
	}
	return chosen, nil
}
