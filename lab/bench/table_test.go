package bench_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"
)

var printTable = flag.Bool("table", false, "measure, and print the table of docs/measured.md, which takes two minutes")

const tableRounds = 100

// rows are the peers in the order of the table, each with its name there.
var rows = []struct{ peer, name string }{
	{ours, "**`Retry`**"},
	{attempts, "**`Attempts`**"},
	{service, "**`Retrier`**, with slots and a budget"},
	{cenkaltiV4, "cenkalti v4"},
	{cenkaltiV5, "cenkalti v5"},
	{cenkaltiV7, "cenkalti v7"},
	{seth, "sethvargo/go-retry"},
	{failsafeG, "failsafe-go (shared)"},
	{avastV4, "avast/retry-go v4 (no time limit)"},
	{avastV5, "avast/retry-go v5 (no time limit)"},
	{eapache, "eapache/go-resiliency (shared, no time limit)"},
	{hand, "a loop by hand"},
}

// columns are the tasks of the table.
var columns = []string{perCall, timedCall, ready, tenFailures}

func TestTable(t *testing.T) {
	if !*printTable {
		t.Skip("it takes two minutes: run with -table")
	}
	contests := map[string]*contest{}
	for _, task := range tasks(t.Context()) {
		contests[task.name] = newContest(t, task, true)
	}
	for range tableRounds {
		for _, i := range rand.Perm(len(columns)) {
			contests[columns[i]].round()
		}
	}

	fmt.Printf("%s, %d cores, %s %s/%s, %s, the fastest of %d rounds\n\n", processor(), runtime.NumCPU(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().Format(time.DateOnly), tableRounds)
	fmt.Println("| | per call, ns (allocs) | with a timeout, ns (allocs) | reused, ns | ten failures, ns | waiting, B |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for _, row := range rows {
		fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", row.name,
			contests[perCall].cell(row.peer, true), contests[timedCall].cell(row.peer, true),
			contests[ready].cell(row.peer, false), contests[tenFailures].cell(row.peer, false), waiting(row.peer))
	}
}

// unmeasured stands for what a peer does not do.
const unmeasured = "–"

// cell returns a peer's time, and its allocations if they are asked for.
func (c *contest) cell(peer string, withAllocs bool) string {
	r := c.runner(peer)
	if r == nil {
		return unmeasured
	}
	took := fmt.Sprintf("%.0f", r.best)
	if r.best < 10 {
		took = fmt.Sprintf("%.1f", r.best)
	}
	if withAllocs {
		took += fmt.Sprintf(" (%.0f)", testing.AllocsPerRun(1000, func() { r.run(1) }))
	}
	return took
}

// waiting returns the bytes that a waiting call of a peer takes, the least of three measurements.
func waiting(name string) string {
	i := slices.IndexFunc(peers, func(p peer) bool { return p.name == name })
	if i < 0 {
		return unmeasured
	}
	return fmt.Sprintf("%.0f", min(weigh(*waiters, peers[i]), weigh(*waiters, peers[i]), weigh(*waiters, peers[i])))
}

// processor returns the name that Linux has for the processor.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	name := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(info)
	if name == nil {
		return "a processor without a name"
	}
	return string(name[1])
}
