//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"example.com/backoff"
)

const (
	processes      = 5
	crowd          = 4 // factor by which there may be more of them
	attemptTimeout = time.Second
	deadline       = 5 * time.Second // of an operation
)

// way is a way to call a server, and a column of the table.
type way struct {
	title    string
	attempts int
	slots    func(load float64) *backoff.Slots
	budget   bool
}

var ways = map[string]way{
	"none":         {"no retries", 1, noSlots, false},
	"retries":      {"3 retries", 4, noSlots, false},
	"budget":       {"3 retries, budget", 4, noSlots, true},
	"slots":        {"slots", 4, sized, false},
	"slots-budget": {"slots, budget", 4, sized, true},
	"number":       {"slots by number", 4, numbered, false},
}

func noSlots(float64) *backoff.Slots { return nil }

func sized(float64) *backoff.Slots { return new(backoff.Slots) }

// numbered returns the slots that are right for a process before there are more: three quarters of the operations that
// it begins in a second × the timeout.
func numbered(load float64) *backoff.Slots {
	n := 0.75 * load * capacity / processes * attemptTimeout.Seconds()
	return backoff.NewSlots(max(1, int(math.Round(n))))
}

func (w way) retrier(load float64) backoff.Retrier {
	r := backoff.Retrier{AttemptTimeout: attemptTimeout, MaxAttempts: w.attempts, Slots: w.slots(load)}
	if w.budget {
		r.Budget = new(backoff.Budget)
	}
	return r
}

// program is what a process that calls a server would be: a Retrier and connections of its own.
type program struct {
	life    context.Context
	end     context.CancelFunc
	retrier backoff.Retrier
	client  *http.Client
}

func newProgram(c cell) *program {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	transport.Proxy = nil
	p := &program{retrier: ways[c.way].retrier(c.load), client: &http.Client{Transport: transport}}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// fleet is all programs of a cell.
type fleet struct {
	cell
	url string

	mu       sync.Mutex // guards the rest
	programs []*program
	count    count
}

func newFleet(c cell, address string) *fleet {
	f := &fleet{cell: c, url: "http://" + address}
	f.add(processes)
	return f
}

func (f *fleet) add(n int) {
	for range n {
		f.programs = append(f.programs, newProgram(f.cell))
	}
}

// grow adds programs, so that there are crowd times as many, which share the operations.
func (f *fleet) grow() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add((crowd - 1) * len(f.programs))
	return nil
}

// restart ends all programs, with their operations, and begins new ones.
func (f *fleet) restart() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endAll()
	f.add(processes)
	return nil
}

func (f *fleet) endAll() {
	for _, p := range f.programs {
		p.end()
		p.client.CloseIdleConnections()
	}
	f.programs = nil
}

// run begins operations at random times from the start of the cell on, until ctx or their time ends, and returns when
// all have ended. In all cells with the same seed the same operations begin at the same times.
func (f *fleet) run(ctx context.Context, start time.Time) count {
	random := rand.New(rand.NewPCG(f.seed, 0))
	var operations sync.WaitGroup
	for at := time.Duration(0); ctx.Err() == nil; {
		at += time.Duration(random.ExpFloat64() / (f.load * capacity) * float64(time.Second))
		share, size := random.Float64(), random.ExpFloat64()
		if at >= f.closes() {
			break
		}
		time.Sleep(time.Until(start.Add(at)))
		p := f.begin(at, time.Since(start), share)
		operations.Go(func() { f.operate(ctx, p, f.request(size), at >= f.from) })
	}
	operations.Wait()

	f.mu.Lock()
	defer f.mu.Unlock()
	f.endAll()
	return f.count
}

// begin counts an operation that should have begun at a time, if it begins in the trouble or after it, and returns the
// program that makes it.
func (f *fleet) begin(at, now time.Duration, share float64) *program {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count.late = max(f.count.late, now-at)
	if at >= f.from {
		f.count.begun++
	}
	return f.programs[int(share*float64(len(f.programs)))]
}

// request returns the URL of a request. Its work is exponentially distributed, unless all answers take the same time.
func (f *fleet) request(size float64) string {
	work, besides := time.Duration(size*float64(meanWork)), time.Duration(0)
	if f.answer > 0 {
		work, besides = meanWork, f.answer-meanWork
	}
	return fmt.Sprintf("%s/?work=%v&besides=%v", f.url, work, besides)
}

// operate makes an operation, and counts it if it is to be counted and succeeds.
func (f *fleet) operate(ctx context.Context, p *program, url string, counted bool) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	stop := context.AfterFunc(p.life, cancel)
	defer stop()

	err := p.retrier.Do(ctx, func(ctx context.Context) error { return p.post(ctx, url) })
	if err == nil && counted {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.count.done++
	}
}

func (p *program) post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(make([]byte, 1000)))
	if err != nil {
		return backoff.Permanent(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}
