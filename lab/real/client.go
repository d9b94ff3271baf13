//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
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
	slots   float64 // of all processes, as a share of capacity × timeout; zero means no limit
}

var clientNames = []string{"none", "retries", "budget", "half", "half-budget"}

var clients = map[string]client{
	"none":        {"no retries", -1, false, 0},
	"retries":     {"three retries", 3, false, 0},
	"budget":      {"three retries, budget", 3, true, 0},
	"half":        {"Retrier, a half", 3, false, 0.5},
	"half-budget": {"Retrier, a half, and a budget", 3, true, 0.5},
}

// perProcess returns the number of slots in each process.
func (c client) perProcess() int {
	return int(c.slots * capacity * attemptTimeout.Seconds() / processes)
}

func (c client) retrier() backoff.Retrier {
	r := backoff.Retrier{AttemptTimeout: attemptTimeout, MaxRetries: c.retries}
	if c.budget {
		r.Budget = &backoff.Budget{}
	}
	if n := c.perProcess(); n > 0 {
		r.Slots = backoff.NewSlots(n)
	}
	return r
}

// program is a client process.
type program struct {
	cell
	retrier backoff.Retrier
	http    *http.Client

	mu         sync.Mutex
	inProgress int // attempts
	report     report
}

// runClient begins operations from the start of the cell on, and prints a report when all have ended.
func runClient(c cell) error {
	exitWithParent()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	transport.Proxy = nil
	p := &program{cell: c, retrier: clients[c.Client].retrier(), http: &http.Client{Transport: transport}}
	p.retrier.Done = p.ended
	p.report = newReport(c)

	random := rand.New(rand.NewPCG(c.Seed, uint64(c.Number)))
	perSecond := c.Load * capacity / processes
	var operations sync.WaitGroup
	for at := time.Duration(0); ; {
		at += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
		work := time.Duration(random.ExpFloat64() * float64(meanWork))
		if at >= c.Duration {
			break
		}
		time.Sleep(time.Until(c.Start.Add(at)))
		p.begin(at)
		operations.Go(func() { p.operate(at, work) })
	}
	operations.Wait()
	return json.NewEncoder(os.Stdout).Encode(p.report)
}

// begin counts an operation that begins at a time of the cell.
func (p *program) begin(at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.BegunAt[int(at.Seconds())]++
	p.report.Latest = max(p.report.Latest, time.Since(p.Start.Add(at)))
}

// operate makes an operation, and counts its outcome.
func (p *program) operate(at, work time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := p.retrier.Do(ctx, func(ctx context.Context) error {
		p.attempt(1)
		defer p.attempt(-1)
		return p.post(ctx, work)
	})

	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.report.Counts["done"]++
		return
	case errors.Is(err, backoff.ErrNoSlot):
		p.report.Counts["no slot"]++
	case errors.Is(err, backoff.ErrBudgetExhausted):
		p.report.Counts["no budget"]++
	default:
		p.report.Counts["no retries or time left"]++
	}
	p.report.LostAt[int(at.Seconds())]++
}

// attempt counts an attempt that begins, or ends.
func (p *program) attempt(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inProgress += change
	p.report.Counts["attempts"] += max(0, change)
	p.report.MostAttempts = max(p.report.MostAttempts, p.inProgress)
}

// ended counts what the Retrier reports.
func (p *program) ended(_ context.Context, attempts int, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Counts["reported"]++
	p.report.Counts["reported attempts"] += attempts
}

func (p *program) post(ctx context.Context, work time.Duration) error {
	url := fmt.Sprintf("http://%s/?work=%v", p.Address, work)
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
