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
	name, title string
	slots       float64 // of all processes, as a share of capacity × timeout; zero means no limit
	retrier     backoff.Retrier
}

func (c client) label() string { return c.name }

var clients = []client{
	{name: "none", title: "no retries", retrier: backoff.Retrier{MaxRetries: -1}},
	{name: "retries", title: "three retries", retrier: backoff.Retrier{MaxRetries: 3}},
	{name: "budget", title: "three retries, budget", retrier: backoff.Retrier{MaxRetries: 3, Budget: &backoff.Budget{}}},
	{name: "half", title: "Retrier, a half", slots: 0.5, retrier: backoff.Retrier{MaxRetries: 3}},
	{name: "half-budget", title: "Retrier, a half, and a budget", slots: 0.5,
		retrier: backoff.Retrier{MaxRetries: 3, Budget: &backoff.Budget{}}},
}

// perProcess returns the number of slots in each process.
func (c client) perProcess() int {
	return int(c.slots * capacity * attemptTimeout.Seconds() / processes)
}

// clientReport is what a client prints in the end.
type clientReport struct {
	Begun    int
	Done     int // operations that succeeded
	NoSlot   int // that found no slot
	NoBudget int // whose last retry the budget refused
	Failed   int // that had no retries or no time left
	Ended    int // as the Retrier counts them
	Attempts int // as the operations count them
	Counted  int // as the Retrier counts them

	MostAttempts int           // in progress at once
	Latest       time.Duration // how much later than it should have an operation began
	BegunAt      []int         // operations by the second in which they began
	LostAt       []int         // those of them that did not succeed
}

// program is a client process.
type program struct {
	cell
	retrier backoff.Retrier
	http    *http.Client
	body    []byte

	mu         sync.Mutex
	inProgress int // attempts
	report     clientReport
}

// runClient begins operations from the start of the cell on, and prints a clientReport when all have ended.
func runClient(c cell) error {
	exitWithParent()
	p := newProgram(c)
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
		late := time.Since(c.Start.Add(at))
		operations.Go(func() { p.operate(at, late, work) })
	}
	operations.Wait()
	return json.NewEncoder(os.Stdout).Encode(&p.report)
}

func newProgram(c cell) *program {
	column := *find(clients, c.Client)
	seconds := int(c.Duration.Seconds()) + 1
	p := &program{cell: c, retrier: column.retrier, body: make([]byte, 1000)}
	p.report.BegunAt = make([]int, seconds)
	p.report.LostAt = make([]int, seconds)

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	transport.Proxy = nil
	p.http = &http.Client{Transport: transport}

	p.retrier.AttemptTimeout = attemptTimeout
	p.retrier.Done = p.ended
	if n := column.perProcess(); n > 0 {
		p.retrier.Slots = backoff.NewSlots(n)
	}
	return p
}

// operate makes an operation that begins at a time of the cell.
func (p *program) operate(at, late, work time.Duration) {
	p.mu.Lock()
	p.report.Begun++
	p.report.BegunAt[int(at.Seconds())]++
	p.report.Latest = max(p.report.Latest, late)
	p.mu.Unlock()

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
		p.report.Done++
		return
	case errors.Is(err, backoff.ErrNoSlot):
		p.report.NoSlot++
	case errors.Is(err, backoff.ErrBudgetExhausted):
		p.report.NoBudget++
	default:
		p.report.Failed++
	}
	p.report.LostAt[int(at.Seconds())]++
}

// attempt counts an attempt that begins, or ends.
func (p *program) attempt(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inProgress += change
	p.report.Attempts += max(0, change)
	p.report.MostAttempts = max(p.report.MostAttempts, p.inProgress)
}

// ended is the Retrier's own count.
func (p *program) ended(_ context.Context, attempts int, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Ended++
	p.report.Counted += attempts
}

func (p *program) post(ctx context.Context, work time.Duration) error {
	url := fmt.Sprintf("http://%s/?work=%v", p.Address, work)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(p.body))
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
