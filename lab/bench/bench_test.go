package bench_test

import (
	"flag"
	"testing"
)

var waiters = flag.Int("waiting", 100_000, "how many `calls` wait at once when their memory is measured")

// BenchmarkPeers measures each task, its peers one right after the other.
func BenchmarkPeers(b *testing.B) {
	for _, t := range tasks(b.Context()) {
		b.Run("task="+t.name, func(b *testing.B) {
			for _, e := range t.entries {
				b.Run("peer="+e.peer, func(b *testing.B) { t.measure(b, e) })
			}
		})
	}
	b.Run("task="+waitingCalls, func(b *testing.B) {
		for _, p := range peers {
			b.Run("peer="+p.name, func(b *testing.B) {
				for range b.N {
					b.ReportMetric(weigh(*waiters, p), "B/call")
				}
				b.ReportMetric(0, "ns/op") // the time is spent on the measurement itself
			})
		}
	})
}

// measure does not use b.Loop: its own calls would be a good part of the shortest tasks.
func (t task) measure(b *testing.B, e entry) {
	b.ReportAllocs()
	run := e.build(b)
	b.ResetTimer()
	run(b.N)
}
