//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// roles are what the processes do that the command starts. Each is the same program, with its role and a cell in
// JSON as its arguments.
var roles = map[string]func(cell) error{"client": runClient, "server": runServer}

// guard is a program of the shell that runs a command, and passes signals on whose names it reads. When its input
// ends, it ends the command, be it stopped or not. The input ends with the process that holds the other end,
// whatever that dies of.
//
// Hangup is what the system sends to stopped processes whose parent has ended. A command in the background of a
// shell ignores INT until it has begun to handle that, but not TERM. After INT, PostgreSQL does not wait for
// connections to end.
const guard = `
	trap "" HUP
	"$@" &
	while read -r name; do kill -s "$name" $!; done
	kill -s TERM $!
	kill -s INT $!
	kill -s CONT $!
	wait $!
`

// runRole does what a process is started for.
func runRole(role, encoded string) int {
	var c cell
	err := json.Unmarshal([]byte(encoded), &c)
	if err == nil {
		err = roles[role](c)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "real %s: %v\n", role, err)
		return 1
	}
	return 0
}

// child is a process that the command has started.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// inRole returns the command line of a process in a role.
func inRole(role string, c cell) ([]string, error) {
	program, err1 := os.Executable()
	encoded, err2 := json.Marshal(c)
	return []string{program, role, string(encoded)}, errors.Join(err1, err2)
}

// guarded returns the command line of a guard.
func guarded(script string, args []string) []string {
	return append([]string{"sh", "-c", script, "guard"}, args...)
}

// start starts a process, whose input it closes when ctx ends.
func start(ctx context.Context, stderr io.Writer, credential *syscall.Credential, args []string) (*child, error) {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	in, err1 := command.StdinPipe()
	out, err2 := command.StdoutPipe()
	command.Stderr = stderr
	command.Cancel = in.Close
	command.WaitDelay = 10 * time.Second
	command.SysProcAttr = &syscall.SysProcAttr{
		Credential: credential,
		Setpgid:    true, // an interrupt from the keyboard is for this process alone
	}
	err := errors.Join(err1, err2)
	if err == nil {
		err = command.Start()
	}
	return &child{command, in, json.NewDecoder(out)}, err
}

// read reads what the process prints.
func (c *child) read(value any) error {
	err := c.out.Decode(value)
	if errors.Is(err, io.EOF) {
		return errors.New("a process ended before its time")
	}
	return err
}

// end ends the process and waits for that.
func (c *child) end() {
	c.in.Close()
	c.Wait()
}

// exitWithParent lets this process exit when its input ends.
func exitWithParent() {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}
