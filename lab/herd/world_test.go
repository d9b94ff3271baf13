package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// simple is a plan of a service that works on one request at a time, for so long.
func simple(work time.Duration) plan {
	return plan{
		processes: 1, skew: 1, grow: 1, guess: 1, rate: 1 / work.Seconds(), servers: 1, even: true,
		timeout: time.Second, from: time.Hour, after: time.Hour,
	}
}

// Work goes on at the capacity that a service has left, and stands still while it is down.
func TestCapacity(t *testing.T) {
	for _, row := range []struct {
		trouble           string
		begin, work, done time.Duration // in seconds
	}{
		{"none", 29, 3, 32},
		{"10s", 20, 9, 29},
		{"10s", 29, 3, 42},
		{"10s", 35, 1, 41},
		{"10s", 40, 1, 41},
		{"half", 30, 3, 36},
		{"half", 28, 3, 32},
		{"half", 80, 7, 92},
		{"half:2m", 80, 7, 94},
		{"refuse:10s", 35, 3, 38},
		{"fail:20%", 35, 3, 38},
	} {
		trouble, err := parseTrouble(row.trouble)
		require.NoError(t, err)
		p := plan{trouble: trouble, from: 30 * time.Second}
		got := p.done(row.begin*time.Second, row.work*time.Second)
		require.Equal(t, row.done*time.Second, got, "%s: %d s from %d on", row.trouble, row.work, row.begin)
	}
}

// A service refuses all attempts for so long, or so many from then on.
func TestRefusal(t *testing.T) {
	for _, row := range []struct {
		trouble string
		at      time.Duration // in seconds
		random  float64
		want    bool
	}{
		{"refuse:10s", 29, 0, false},
		{"refuse:10s", 30, 0.99, true},
		{"refuse:10s", 40, 0, false},
		{"refuse:5%", 29, 0, false},
		{"refuse:5%", 3000, 0.04, true},
		{"refuse:5%", 3000, 0.05, false},
	} {
		trouble, err := parseTrouble(row.trouble)
		require.NoError(t, err)
		p := plan{trouble: trouble, from: 30 * time.Second}
		require.Equal(t, row.want, p.refuses(row.at*time.Second, row.random), row)
	}
}

// Several servers share the capacity: each is slower, and as many requests are done.
func TestServers(t *testing.T) {
	for servers, want := range map[int][]time.Duration{1: {600, 1100, 1600}, 2: {1100, 1100, 2100}} {
		p := simple(500 * time.Millisecond)
		p.servers = servers
		p.answer = 100 * time.Millisecond
		w := newWorld(way{}, p)
		for _, took := range want {
			require.Equal(t, took*time.Millisecond, w.work(&call{}, 0))
		}
	}
}

// A request whose client has left is worked on.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(way{}, simple(3*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.serve(ctx, &call{}), context.DeadlineExceeded)

		start := time.Now()
		require.NoError(t, w.serve(t.Context(), &call{}))
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

// A call that has not ended when all is cut off is lost, whatever would have come of it.
func TestUnended(t *testing.T) {
	p := simple(90 * time.Second)
	p.timeout = time.Hour
	p.from = 0
	p.after = time.Minute
	p.atOnce = 2
	o := play(ways[noRetries], p)
	require.Equal(t, 2, o.begun)
	require.Equal(t, 1, o.lost())
}

// The busiest process has more calls than the idlest by the skew, and those that come with the trouble have as many as
// the others.
func TestTraffic(t *testing.T) {
	p := simple(time.Second)
	p.processes = 3
	p.skew = 4
	require.InDeltaSlice(t, []float64{1. / 7, 2. / 7, 4. / 7}, p.traffic(3), 1e-9)

	p.skew = 1
	p.grow = 2
	for from, most := range map[time.Duration]int{0: 5, time.Hour: 2} {
		synctest.Test(t, func(t *testing.T) {
			p.from = from
			w := newWorld(way{}, p)
			require.Len(t, w.fleet, 6)
			require.Equal(t, 0, w.pick(0))
			require.Equal(t, most, w.pick(0.999))
		})
	}
}

// The traffic of the processes moves on by one of them at a time.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simple(time.Second)
		p.processes = 3
		p.move = time.Minute
		w := newWorld(way{}, p)
		for _, want := range []int{0, 1, 2, 0} {
			require.Equal(t, want, w.pick(0))
			require.Equal(t, (want+2)%3, w.pick(0.999))
			time.Sleep(time.Minute)
		}
	})
}

// When the processes are restarted, their calls are cut off, and those that follow are made by others.
func TestRestart(t *testing.T) {
	p := simple(3 * time.Second)
	p.timeout = time.Hour
	p.trouble = trouble{duration: 10 * time.Second, left: 1}
	p.from = 10 * time.Second
	p.restart = true
	p.atOnce = 3 // of which the first is done before the restart, the others at 16 s and 19 s
	p.load = 0.01
	var made []int
	o := play(way{retries: none, slots: func(_ plan, number int) *backoff.Slots {
		made = append(made, number)
		return nil
	}}, p)
	require.Equal(t, []int{0, 0}, made)
	require.Equal(t, 2, o.lost())
	require.Greater(t, o.begun, 10)
}

// A burst comes within a second, after a call of each process and a pause. Attempts that are refused fail at once.
func TestBurst(t *testing.T) {
	all := simulated(t, "-shape burst -size 50 -from 1m -trouble refuse:100% -rate 2000 -servers 200")
	o := all[three]
	require.Equal(t, 5+50, o.begun)
	require.Equal(t, 50, o.lost())
	require.Equal(t, 5, o.requests.sum(0, 60))
	require.Equal(t, 50*4, o.requests.sum(60, 70))
	require.Less(t, all[noRetries].half(), 0.5)
}

// The requests of other programs are counted apart, and lost if the service does not answer in time.
func TestNeighbours(t *testing.T) {
	o := simulated(t, "-shape devices -size 1000 -trouble 10s -after 1m -load 0.5")[usualWaits]
	require.InDelta(t, 60*60*0.5, o.others, 150)
	require.Greater(t, o.othersShare(), 85.0)
	require.Equal(t, 1000, o.begun)
}
