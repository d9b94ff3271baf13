//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// recovery is how long operations must succeed again until a server is said to be back.
const recovery = 5 * time.Second

// cell is one measurement: a server and its clients. It is also what their processes are told.
type cell struct {
	Server, Client       string
	Load                 float64
	Trouble              string
	From, Down, Duration time.Duration
	Seed                 uint64

	Database string    // PostgreSQL's folder
	Address  string    // of the server
	Start    time.Time // of the clients
	Number   int       // of the client
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s, load %g, seed %d", c.Server, c.Client, c.Load, c.Seed)
}

// takes returns how long a cell takes at most.
func (c cell) takes() time.Duration { return c.Duration + deadline + 2*time.Second }

// run measures a cell. log receives what happens to its server.
func (c cell) run(ctx context.Context, stderr, log io.Writer) (o outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*child
	defer func() {
		cancel()
		for _, process := range all {
			process.end()
		}
	}()
	begin := func(role string) (*child, error) {
		process, err := start(ctx, stderr, role, c)
		if err == nil {
			all = append(all, process)
		}
		return process, err
	}

	server, err := begin("guard")
	if err != nil {
		return o, err
	}
	if c.Address, err = server.line(); err != nil {
		return o, err
	}
	c.Start = time.Now().Add(time.Second)
	for c.Number = range processes {
		if _, err := begin("client"); err != nil {
			return o, err
		}
	}
	if err := c.disturb(ctx, server, log); err != nil {
		return o, err
	}
	for _, process := range all[1:] {
		var r clientReport
		if err := process.read(&r); err != nil {
			return o, err
		}
		o.add(r)
	}
	server.in.Close()
	if err := server.read(&o.serverReport); err != nil {
		return o, err
	}
	return o, o.check(find(clients, c.Client).perProcess())
}

// disturb gets the server into its trouble, and out of it.
func (c cell) disturb(ctx context.Context, server *child, log io.Writer) error {
	bad, good := "stop", "continue"
	if c.Trouble == "half" {
		bad, good = "half", "whole"
	}
	for _, step := range []struct {
		at   time.Duration
		what string
	}{{c.From, bad}, {c.From + c.Down, good}} {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(c.Start.Add(step.at))):
		}
		if _, err := fmt.Fprintln(server.in, step.what); err != nil {
			return err
		}
		fmt.Fprintf(log, "%v: %s\n", c, step.what)
	}
	return nil
}

// outcome is what the clients of a cell report together, and its server.
type outcome struct {
	clientReport
	serverReport
}

// add adds the report of a client.
func (o *outcome) add(r clientReport) {
	o.Begun += r.Begun
	o.Done += r.Done
	o.NoSlot += r.NoSlot
	o.NoBudget += r.NoBudget
	o.Failed += r.Failed
	o.Ended += r.Ended
	o.Attempts += r.Attempts
	o.Counted += r.Counted
	o.MostAttempts = max(o.MostAttempts, r.MostAttempts)
	o.Latest = max(o.Latest, r.Latest)
	if o.BegunAt == nil {
		o.BegunAt = make([]int, len(r.BegunAt))
		o.LostAt = make([]int, len(r.LostAt))
	}
	for second := range r.BegunAt {
		o.BegunAt[second] += r.BegunAt[second]
		o.LostAt[second] += r.LostAt[second]
	}
}

// check returns an error if the counts contradict each other. Each process had so many slots, if not zero.
func (o *outcome) check(slots int) error {
	lost := o.NoSlot + o.NoBudget + o.Failed
	switch {
	case o.Begun == 0:
		return errors.New("no operation began")
	case o.Begun != o.Done+lost:
		return fmt.Errorf("%d operations began, and %d have an outcome", o.Begun, o.Done+lost)
	case o.Begun != o.Ended || o.Attempts != o.Counted:
		return fmt.Errorf("%d operations with %d attempts, and the Retriers counted %d with %d", o.Begun, o.Attempts, o.Ended, o.Counted)
	case sum(o.BegunAt) != o.Begun || sum(o.LostAt) != lost:
		return fmt.Errorf("of %d operations %d were lost, and second by second %d of %d", o.Begun, lost, sum(o.LostAt), sum(o.BegunAt))
	case int64(o.Done) > o.Answered || o.Answered > o.Requests || o.Requests > int64(o.Attempts):
		return fmt.Errorf("%d operations succeeded by %d answers to %d requests of %d attempts", o.Done, o.Answered, o.Requests, o.Attempts)
	case slots > 0 && o.MostAttempts > slots:
		return fmt.Errorf("%d attempts at once with %d slots", o.MostAttempts, slots)
	}
	return nil
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// lost returns the share of the operations that were lost, as a percentage.
func (o *outcome) lost() float64 { return 100 * float64(o.Begun-o.Done) / float64(o.Begun) }

// back returns how many seconds after the trouble the server is back: from then on, at least 90 % of the
// operations that begin in every five seconds succeed. It is negative if there is no such time.
func (o *outcome) back(c cell) int {
	window := int(recovery.Seconds())
	end := int((c.From + c.Down).Seconds())
	whole := int(c.Duration.Seconds())
	back := -1
	for from := whole - window; from >= end; from-- {
		begun := sum(o.BegunAt[from : from+window])
		lost := sum(o.LostAt[from : from+window])
		if 10*lost > begun {
			break
		}
		back = from - end
	}
	return back
}
