package bench_test

import "testing"

// BenchmarkPeers measures each task, its peers one right after the other. It does not use b.Loop, whose own calls
// would be a good part of the shortest tasks.
func BenchmarkPeers(b *testing.B) {
	for _, t := range tasks(b.Context()) {
		b.Run("task="+t.name, func(b *testing.B) {
			for _, e := range t.entries {
				b.Run("peer="+e.peer, func(b *testing.B) {
					b.ReportAllocs()
					run := e.build(b)
					b.ResetTimer()
					run(b.N)
				})
			}
		})
	}
}
