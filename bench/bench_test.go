package bench

import (
	"strings"
	"testing"
)

func BenchmarkPeers(b *testing.B) {
	for _, c := range Cases(b.Context()) {
		b.Run(strings.ReplaceAll(c.Task, ", ", "/")+"/"+c.Peer, c.Run)
	}
}
