package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
)

func main() {
	testing.Init() // for synctest
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errReported):
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "herd:", err)
		return 2
	}
	if err := simulate(c, stdout); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	return 0
}

// simulate runs a scenario, and writes what it comes to.
func simulate(c config, stdout io.Writer) error {
	result := c.result()
	out := bufio.NewWriter(stdout)
	result.table(out)
	if err := out.Flush(); err != nil || c.svg == "" {
		return err
	}
	return os.WriteFile(c.svg, []byte(result.(programs).draw()), 0o666)
}

// result is what a scenario comes to.
type result interface{ table(io.Writer) }

// scenarios holds the names of the simulations.
var scenarios = []string{"programs", "slots", "margins", "contention"}

// result simulates the scenario.
func (c config) result() result {
	switch c.scenario {
	case "slots":
		return runSlots(c)
	case "margins":
		return runMargins(c)
	case "contention":
		return runContention(c)
	}
	return runPrograms(c)
}
