//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// cell is one measurement: a server, its clients, and their trouble.
type cell struct {
	trouble
	server, way string // their names
	seed        uint64
	from, after time.Duration // before the trouble, and after it
	answer      time.Duration // of each request, unless that is zero
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %v, %s, seed %d", c.server, c.trouble, c.way, c.seed)
}

// closes returns when the last operations begin.
func (c cell) closes() time.Duration { return c.from + c.duration + c.after }

// run measures a cell.
func (c cell) run(ctx context.Context, stderr io.Writer) (count, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var servers []*child
	backends, workers := c.backends()
	for range backends {
		server, err := startServer(ctx, c.server, workers, stderr)
		if err != nil {
			return count{}, err
		}
		defer server.Wait()
		defer cancel(nil)
		servers = append(servers, server)
	}
	address := servers[0].address
	if backends > 1 {
		proxy, end, err := startProxy(servers)
		if err != nil {
			return count{}, err
		}
		defer end()
		address = proxy
	}

	clients := newFleet(c, address)
	start := time.Now()
	go func() {
		if err := c.disturb(ctx, c.steps(servers[0], clients), start, stderr); err != nil {
			cancel(err)
		}
	}()
	all := clients.run(ctx, start)
	switch {
	case ctx.Err() != nil:
		return count{}, context.Cause(ctx)
	case all.begun == 0:
		return count{}, errors.New("no operation began")
	}
	return all, nil
}

// disturb takes the steps at their times.
func (c cell) disturb(ctx context.Context, steps []step, start time.Time, stderr io.Writer) error {
	for _, s := range steps {
		if err := pause(ctx, time.Until(start.Add(s.at))); err != nil {
			return context.Cause(ctx)
		}
		if err := s.do(); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%v: %s\n", c, s.what)
	}
	return nil
}

// count is what happens to the operations that begin in the trouble or after it.
type count struct {
	begun, done int           // all, and those that succeeded
	late        time.Duration // how much later than it should have any operation began
}

// lost returns how many operations did not succeed, and lostShare the share of them in per cent.
func (c count) lost() float64      { return float64(c.begun - c.done) }
func (c count) lostShare() float64 { return 100 * c.lost() / float64(c.begun) }

// child is the process of a server. It ends when its input does.
type child struct {
	*exec.Cmd
	in      io.WriteCloser
	address string // that it listens on
}

// stop returns once the child is stopped: if this process ended before, the system would not hang up on it, and it
// would be left.
func (c *child) stop() error {
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if err == nil && !status.Stopped() {
		return errors.New("the server has ended")
	}
	return err
}

func (c *child) goOn() error { return c.Process.Signal(syscall.SIGCONT) }

// tell tells a server which trouble it has.
func (c *child) tell(kind string) error {
	_, err := fmt.Fprintln(c.in, kind)
	return err
}

// startServer starts a server, and returns it once it listens. It is killed when ctx ends, be it stopped or not. If this process ends first, the system hangs up on a child that is stopped: it is in a group of its own, so that
// the keyboard's signals do not reach it.
func startServer(ctx context.Context, name string, workers int, stderr io.Writer) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, serve, name, strconv.Itoa(workers))
	command.Stderr = stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err1 := command.StdinPipe()
	out, err2 := command.StdoutPipe()
	if err := errors.Join(err1, err2, command.Start()); err != nil {
		return nil, err
	}

	server := &child{Cmd: command, in: in}
	_, err = fmt.Fscanln(out, &server.address)
	return server, err
}
