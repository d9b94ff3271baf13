package main

import (
	"fmt"
	"math"

	"example.com/backoff/bench"
)

// A bar is a promise about one figure.
type bar struct {
	promise string
	got     float64
	most    float64
}

func (b bar) met() bool { return b.got <= b.most }

func (b bar) String() string {
	verdict := "met   "
	if !b.met() {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s  %.4g, at most %.4g: %s", verdict, b.got, b.most, b.promise)
}

// bars returns the promises of the library's performance, as far as r has figures for them.
func bars(r results) []bar {
	var all []bar
	add := func(promise string, got, most float64) {
		if !math.IsNaN(got) {
			all = append(all, bar{promise, got, most})
		}
	}
	ours := func(task string) float64 { return r.time(task, bench.Ours) }
	noAllocs := func(task string) { add("allocations: "+task, r.allocs(task, bench.Ours), 0) }

	for _, task := range []string{bench.Success, bench.SuccessDefault, bench.OneFailure, bench.TenFailures, bench.TenLimited} {
		noAllocs(task)
	}
	add("time beside cenkalti/backoff v4's: "+bench.Success, ours(bench.Success)/r.time(bench.Success, bench.Cenkalti4), 0.35)
	add("time beside the fastest peer's: "+bench.Success, ours(bench.Success)/r.fastestPeer(bench.Success), 1)
	for _, task := range []string{bench.TenFailures, bench.TenLimited} {
		add("time beside the fastest peer's: "+task, ours(task)/r.fastestPeer(task), 0.1)
	}
	add("allocations of twelve waits more than of three", r.allocs(bench.TwelveWaits, bench.Ours)-r.allocs(bench.ThreeWaits, bench.Ours), 0)

	noAllocs(bench.NextDefault)
	add("time beside cenkalti/backoff v4's: "+bench.NextDefault, ours(bench.NextDefault)/r.time(bench.NextDefault, bench.Cenkalti4), 0.7)
	for _, jitter := range bench.Jitters {
		task := bench.NextJitter + jitter.String()
		noAllocs(task)
		add("time beside cenkalti/backoff v5's: "+task, ours(task)/r.time(bench.NextNoLimit, bench.Cenkalti5), 1.2)
	}
	noAllocs(bench.BudgetSerial)
	noAllocs(bench.BudgetParallel)
	add("memory beside cenkalti/backoff v4's: "+bench.Waiting, ours(bench.Waiting)/r.time(bench.Waiting, bench.Cenkalti4), 1)
	return all
}
