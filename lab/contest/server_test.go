package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// event is something that happens to a server after some seconds. A nil change is a request.
type event struct {
	after  float64
	change func(*server)
}

var arrival = func(after float64) event { return event{after, nil} }

// answers returns when the requests of a server end, and how. Each of them has four seconds.
func answers(workers int, events []event) string {
	s := &server{random: rand.New(rand.NewPCG(1, 1)), workers: workers, work: time.Second}
	start := time.Now()
	var all []string
	var mu sync.Mutex
	var requests sync.WaitGroup
	for _, e := range events {
		time.Sleep(seconds(e.after) - time.Since(start))
		if e.change != nil {
			s.change(func() { e.change(s) })
			continue
		}
		requests.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
			defer cancel()
			err := s.do(ctx)
			mu.Lock()
			defer mu.Unlock()
			how := map[error]string{nil: "", errRefused: " refused", errLate: " late"}[err]
			all = append(all, fmt.Sprintf("%g%s", time.Since(start).Seconds(), how))
		})
		synctest.Wait()
	}
	requests.Wait()
	return strings.Join(all, ", ")
}

func TestServer(t *testing.T) {
	half := func(s *server) { s.hangs = 1 }
	for name, test := range map[string]struct {
		workers int
		events  []event
		want    string
	}{
		"in order":              {1, []event{arrival(0), arrival(0.1), arrival(0.2)}, "1, 2, 3"},
		"two workers":           {2, []event{arrival(0), arrival(0.1), arrival(0.2)}, "1, 1.1, 2"},
		"works for those gone":  {1, []event{arrival(0), arrival(0.1), arrival(0.2), arrival(0.3), arrival(0.4), arrival(3)}, "1, 2, 3, 4, 4.4 late, 6"},
		"stop and go on":        {1, []event{arrival(0), arrival(0.1), {0.5, stop}, arrival(0.6), {3, goOn}}, "3, 4, 4.6 late"},
		"stop without work":     {1, []event{{0.5, stop}, arrival(0.6), {2, goOn}}, "3"},
		"restart":               {1, []event{arrival(0), arrival(0.1), {0.5, (*server).restart}, arrival(0.6)}, "0.5 refused, 0.5 refused, 1.6"},
		"restart after a stop":  {1, []event{arrival(0), {0.5, stop}, {2, (*server).restart}, arrival(2.5)}, "2 refused, 3.5"},
		"half of its capacity":  {2, []event{{0, halve}, arrival(0), arrival(0.1), {1.5, double}, arrival(1.6)}, "1, 2, 2.6"},
		"refuses":               {1, []event{{0, func(s *server) { s.refuses = 1 }}, arrival(0)}, "0.001 refused"},
		"hangs, has no worker":  {1, []event{{0, half}, arrival(0), {0.1, func(s *server) { s.hangs = 0 }}, arrival(0.2)}, "1.2, 4 late"},
		"slow, has no worker":   {1, []event{{0, func(s *server) { s.delay = time.Second }}, arrival(0), arrival(0.1)}, "2, 3"},
		"too slow for a client": {1, []event{{0, func(s *server) { s.delay = 4 * time.Second }}, arrival(0)}, "4 late"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { require.Equal(t, test.want, answers(test.workers, test.events)) })
		})
	}
}

// The capacity of a scene is exact, however many servers it has.
func TestCapacity(t *testing.T) {
	for _, s := range scenes {
		if s.roomy {
			continue
		}
		p := plan{scene: s, work: 20 * time.Millisecond}
		p.load = max(p.load, 0.5)
		sum := 0.0
		for _, one := range p.build() {
			sum += float64(one.workers) / one.work.Seconds()
		}
		require.InDelta(t, p.calls()/p.load, sum, 0.01, s.name)
	}
}

// Work has the mean that it should.
func TestWork(t *testing.T) {
	for stages, want := range map[int]float64{1: 1, 4: 0.25} {
		s := &server{random: rand.New(rand.NewPCG(1, 1)), work: time.Second, stages: stages}
		const n = 10_000
		sum, squares := 0.0, 0.0
		for range n {
			work := s.draw().Seconds()
			sum += work
			squares += work * work
		}
		variance := squares/n - (sum/n)*(sum/n)
		require.InDelta(t, 1, sum/n, 0.05)
		require.InDelta(t, want, variance, 0.1)
	}
}
