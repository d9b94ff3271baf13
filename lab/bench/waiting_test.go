package bench_test

import (
	"context"
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var waiters = flag.Int("waiting", 100_000, "how many `calls` wait at once when their memory is measured")

// weigh keeps n calls of p waiting at once, with a context that can be cancelled, and returns the
// bytes of heap and stack that each of them takes.
func weigh(n int, p peer) float64 {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	warmUp(n)
	var failed atomic.Int64
	build := func() retry {
		return p.constant(ctx, time.Hour, func() error {
			useStack()
			failed.Add(1)
			return errFailed
		})
	}
	before := inUse()
	var shared retry
	if p.concurrent {
		shared = build()
	}
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if shared != nil {
				_ = shared()
			} else {
				_ = build()()
			}
		})
	}
	for failed.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // from the failure to the wait
	after := inUse()
	cancel()
	group.Wait()
	return (after - before) / float64(n)
}

// useStack uses as much stack as a call of a client does at least. The 2 KB with which a goroutine starts
// are then too small whatever the library uses.
func useStack() { fill(nil) }

//go:noinline
func fill(b []byte) byte {
	var a [1024]byte
	copy(a[:], b)
	return a[len(b)]
}

var warm int

// warmUp makes the runtime allocate its records of n goroutines, which it keeps for later ones. The
// first measurement would otherwise pay for all.
func warmUp(n int) {
	if n <= warm {
		return
	}
	warm = n
	release := make(chan struct{})
	var group sync.WaitGroup
	for range n {
		group.Go(func() { <-release })
	}
	close(release)
	group.Wait()
}

func inUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
