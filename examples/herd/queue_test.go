package main

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reference is a queue by container/heap.
type reference[T any] struct {
	events []referenceEvent[T]
	pushed int
}

type referenceEvent[T any] struct {
	at    time.Duration
	order int
	event T
}

func (r *reference[T]) Len() int { return len(r.events) }

func (r *reference[T]) Less(i, j int) bool {
	a, b := r.events[i], r.events[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (r *reference[T]) Swap(i, j int) { r.events[i], r.events[j] = r.events[j], r.events[i] }

func (r *reference[T]) Push(x any) { r.events = append(r.events, x.(referenceEvent[T])) }

func (r *reference[T]) Pop() any {
	last := r.events[len(r.events)-1]
	r.events = r.events[:len(r.events)-1]
	return last
}

func (r *reference[T]) push(at time.Duration, event T) {
	r.pushed++
	heap.Push(r, referenceEvent[T]{at, r.pushed, event})
}

func (r *reference[T]) pop() (at time.Duration, event T, ok bool) {
	if len(r.events) == 0 {
		return 0, event, false
	}
	first := heap.Pop(r).(referenceEvent[T])
	return first.at, first.event, true
}

// Each event that is popped pushes up to two others: at once, within its millisecond, soon, or more
// than a turn of the wheel later.
func TestWheelOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	fast, slow := &wheel[int]{}, &reference[int]{}
	number := 0
	push := func(at time.Duration) {
		number++
		fast.push(at, number)
		slow.push(at, number)
	}
	for range 50 {
		push(0)
	}
	for left := 20_000; ; left-- {
		at, event, ok := fast.pop()
		wantAt, want, wantOK := slow.pop()
		require.Equal(t, wantOK, ok)
		require.Equal(t, wantAt, at)
		require.Equal(t, want, event)
		if !ok {
			break
		}
		for n := random.IntN(3); n > 0 && left > 0 && fast.size < 1000; n-- {
			ranges := []time.Duration{1, 3, time.Millisecond, time.Second, 100 * time.Second}
			later := at + time.Duration(random.Int64N(int64(ranges[random.IntN(len(ranges))])))
			push(later)
			push(later)
		}
		if fast.size == 0 && left > 0 {
			push(at + time.Minute)
		}
	}
	require.Greater(t, number, 10_000)
}
