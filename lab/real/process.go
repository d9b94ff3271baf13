//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Each process holds the other end of its children's standard inputs, and writes nothing there but names of
// signals. So these inputs end with their parent, whatever it dies of, and a child whose input ends, ends too. A
// stopped process would not notice, nor does PostgreSQL. So each of these has a guard as its parent.

// child is a process that was started by start.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start starts a process in a role. When ctx ends, the process has ten seconds to end, too.
func start(ctx context.Context, stderr io.Writer, role string, c cell) (*child, error) {
	encoded, err1 := json.Marshal(c)
	program, err2 := os.Executable()
	command := exec.CommandContext(ctx, program, role, string(encoded))
	in, err3 := command.StdinPipe()
	out, err4 := command.StdoutPipe()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}

	command.Stderr = stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the keyboard is for the command alone
	command.Cancel = in.Close
	command.WaitDelay = 10 * time.Second
	return &child{command, in, bufio.NewReader(out)}, command.Start()
}

// line returns the next line that the process prints.
func (c *child) line() (string, error) {
	line, err := c.out.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = errors.New("a process ended before its time")
	}
	return strings.TrimSuffix(line, "\n"), err
}

// read reads what the process prints in JSON.
func (c *child) read(value any) error { return json.NewDecoder(c.out).Decode(value) }

// end ends the process and waits for that.
func (c *child) end() error {
	c.in.Close()
	io.Copy(io.Discard, c.out)
	return c.command.Wait()
}

// exitWithParent ends this process when its parent ends, or ends its input.
func exitWithParent() {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

// passedOn are the signals that a guard passes on, by what is written to its input.
var passedOn = map[string]syscall.Signal{
	"stop":     syscall.SIGSTOP,
	"continue": syscall.SIGCONT,
	"half":     syscall.SIGUSR1,
	"whole":    syscall.SIGUSR2,
}

// guard runs a command until the input ends, and then ends the command, be it stopped or not.
func guard(command *exec.Cmd) error {
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()

	over := make(chan os.Signal, 1)
	signal.Notify(over, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			command.Process.Signal(passedOn[lines.Text()])
		}
		over <- syscall.SIGHUP
	}()

	select {
	case err := <-exited:
		return errors.Join(errors.New("ended before its time"), err)
	case <-over:
	}
	command.Process.Signal(os.Interrupt)
	command.Process.Signal(syscall.SIGCONT)
	select {
	case err := <-exited:
		return err
	case <-time.After(3 * time.Second):
		command.Process.Kill()
		return <-exited
	}
}
