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
	attemptTimeout = time.Second
	deadline       = 5 * time.Second // of an operation
)

// client is a column of the table.
type client struct {
	title   string
	retries int
	budget  bool
	slots   bool // of the own rate
}

var clientNames = []string{"none", "retries", "budget", "own", "own-budget", "own-none"}

var clients = map[string]client{
	"none":       {"no retries", -1, false, false},
	"retries":    {"3 retries", 3, false, false},
	"budget":     {"3 retries, budget", 3, true, false},
	"own":        {"slots of the own rate", 3, false, true},
	"own-budget": {"slots of the own rate, budget", 3, true, true},
	"own-none":   {"slots of the own rate, no retries", -1, false, true},
}

// ownRate returns three quarters of the operations that a process begins in a second × the timeout.
func ownRate(load float64) int {
	return max(1, int(math.Round(0.75*load*capacity/processes*attemptTimeout.Seconds())))
}

func (c client) retrier(load float64) backoff.Retrier {
	r := backoff.Retrier{AttemptTimeout: attemptTimeout, MaxRetries: c.retries}
	if c.budget {
		r.Budget = &backoff.Budget{}
	}
	if c.slots {
		r.Slots = backoff.NewSlots(ownRate(load))
	}
	return r
}

// program is what a client process would be: a Retrier and connections of its own.
type program struct {
	url     string
	retrier backoff.Retrier
	http    *http.Client

	mu     sync.Mutex // guards report.done
	report report
}

func newProgram(c cell, address string) *program {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	transport.Proxy = nil
	return &program{
		url:     "http://" + address,
		retrier: clients[c.client].retrier(c.load),
		http:    &http.Client{Transport: transport},
	}
}

// runClient begins operations from the start of the cell on, until ctx or their time ends, and returns when all have
// ended.
func runClient(ctx context.Context, c cell, address string, start time.Time, number int) report {
	p := newProgram(c, address)
	defer p.http.CloseIdleConnections()
	random := rand.New(rand.NewPCG(1, uint64(number)))
	perSecond := c.load * capacity / processes
	var operations sync.WaitGroup
	for at := time.Duration(0); ctx.Err() == nil; {
		at += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
		work := time.Duration(random.ExpFloat64() * float64(meanWork))
		if at >= c.duration {
			break
		}
		time.Sleep(time.Until(start.Add(at)))
		p.report.late = max(p.report.late, time.Since(start.Add(at)))
		p.report.begun++
		operations.Go(func() { p.operate(ctx, work) })
	}
	operations.Wait()
	return p.report
}

// operate makes an operation, and counts it if it succeeds.
func (p *program) operate(ctx context.Context, work time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	err := p.retrier.Do(ctx, func(ctx context.Context) error { return p.post(ctx, work) })
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.report.done++
	}
}

func (p *program) post(ctx context.Context, work time.Duration) error {
	url := fmt.Sprintf("%s/?work=%v", p.url, work)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(make([]byte, 1000)))
	if err != nil {
		return backoff.Permanent(err)
	}
	resp, err := p.http.Do(req)
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
