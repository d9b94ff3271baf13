//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// cell is one measurement: a server and its clients.
type cell struct {
	server, client       string // their names
	load                 float64
	from, down, duration time.Duration
	database             string // PostgreSQL's folder
}

func (c cell) String() string { return fmt.Sprintf("%s, %s, load %g", c.server, c.client, c.load) }

// takes returns how long a cell takes at most.
func (c cell) takes() time.Duration { return c.duration + deadline + time.Second }

// run measures a cell.
func (c cell) run(ctx context.Context, stderr io.Writer) (report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := startServer(ctx, c, stderr)
	if err != nil {
		return report{}, err
	}
	defer server.Wait()
	defer cancel()

	start := time.Now()
	reports := make([]report, processes)
	var clients sync.WaitGroup
	for i := range reports {
		clients.Go(func() { reports[i] = runClient(ctx, c, server.address, start, i) })
	}
	err = c.disturb(ctx, server, start, stderr)
	if err != nil {
		cancel()
	}
	clients.Wait()
	if err != nil {
		return report{}, err
	}

	all := report{}
	for _, r := range reports {
		all.begun += r.begun
		all.done += r.done
		all.late = max(all.late, r.late)
	}
	if all.begun == 0 {
		return all, errors.New("no operation began")
	}
	return all, nil
}

// disturb stops the server for its time.
func (c cell) disturb(ctx context.Context, server *child, start time.Time, stderr io.Writer) error {
	for _, step := range []struct {
		at     time.Duration
		signal syscall.Signal
	}{{c.from, syscall.SIGSTOP}, {c.from + c.down, syscall.SIGCONT}} {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(start.Add(step.at))):
		}
		if err := server.Process.Signal(step.signal); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%v: %v\n", c, step.signal)
	}
	return nil
}

// report is what a client counts, or all of a cell together.
type report struct {
	begun, done int           // operations, and those that succeeded
	late        time.Duration // how much later than it should have an operation began
}

// lost returns the share of the operations that did not succeed, in per cent.
func (r report) lost() float64 { return 100 * (1 - float64(r.done)/float64(r.begun)) }

// child is a process that the command has started. It ends when its input does.
type child struct {
	*exec.Cmd
	in      io.Closer
	out     io.Reader
	address string // that a server listens on
}

// start starts a process, which is killed when ctx ends, be it stopped or not. If this process ends first, the system
// hangs up on a child that is stopped: it is in a group of its own, so that the keyboard's signals do not reach it.
func start(ctx context.Context, stderr io.Writer, credential *syscall.Credential, args ...string) (*child, error) {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Stderr = stderr
	command.WaitDelay = 10 * time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{Cmd: command, in: in, out: out}, command.Start()
}

// startServer starts the server of a cell, and returns it once it listens.
func startServer(ctx context.Context, c cell, stderr io.Writer) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server, err := start(ctx, stderr, nil, program, serve, c.server, c.database)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fscanln(server.out, &server.address)
	return server, err
}
