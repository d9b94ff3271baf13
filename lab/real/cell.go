//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// cell is one measurement: a server and its clients. It is also what their processes are told.
type cell struct {
	Server, Client       string // their names
	Load                 float64
	Trouble              string
	From, Down, Duration time.Duration
	Seed                 uint64

	Database string    // PostgreSQL's folder
	Address  string    // of the server
	Start    time.Time // of the clients
	Number   int       // of the client
}

func (c cell) String() string { return fmt.Sprintf("%s, %s, load %g", c.Server, c.Client, c.Load) }

// takes returns how long a cell takes at most.
func (c cell) takes() time.Duration { return c.Duration + deadline + 2*time.Second }

// troubles are what a server gets into: the signals for it, and what the table says.
var troubles = map[string]struct{ begin, end, title string }{
	"stop": {"STOP", "CONT", "stopped"},
	"half": {"USR1", "USR2", "at half of its capacity"},
}

// run measures a cell.
func (c cell) run(ctx context.Context, stderr io.Writer) (r report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*child
	defer func() {
		cancel()
		for _, process := range all {
			process.end()
		}
	}()
	begin := func(args []string, err error) error {
		if err != nil {
			return err
		}
		process, err := start(ctx, stderr, nil, args)
		if err == nil {
			all = append(all, process)
		}
		return err
	}

	args, err := inRole("server", c)
	if err := begin(guarded(guard, args), err); err != nil {
		return r, err
	}
	server := all[0]
	if err := server.read(&c.Address); err != nil {
		return r, err
	}
	c.Start = time.Now().Add(time.Second)
	for c.Number = range processes {
		if err := begin(inRole("client", c)); err != nil {
			return r, err
		}
	}
	if err := c.disturb(ctx, server, stderr); err != nil {
		return r, err
	}
	return c.collect(all[1:], server)
}

// disturb gets the server into its trouble, and out of it.
func (c cell) disturb(ctx context.Context, server *child, stderr io.Writer) error {
	trouble := troubles[c.Trouble]
	for _, step := range []struct {
		at     time.Duration
		signal string
	}{{c.From, trouble.begin}, {c.From + c.Down, trouble.end}} {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(c.Start.Add(step.at))):
		}
		if _, err := fmt.Fprintln(server.in, step.signal); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%v: %s\n", c, step.signal)
	}
	return nil
}

// collect returns what the processes report when they are done.
func (c cell) collect(clientProcesses []*child, server *child) (report, error) {
	all := newReport(c)
	for _, process := range append(clientProcesses, server) {
		if process == server {
			server.in.Close()
		}
		var r report
		if err := process.read(&r); err != nil {
			return all, err
		}
		all.add(r)
	}
	return all, all.check(clients[c.Client].perProcess())
}
