//go:build unix

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// trouble is what happens to a server or to its clients, at a load.
type trouble struct {
	kind     string
	duration time.Duration // zero: it lasts to the end
	load     float64       // the share of the capacity that the operations need
}

// The kinds of trouble that the server is told of.
const (
	half   = "half"
	fail   = "fail"
	refuse = "refuse"
	broken = "broken"
)

// kind is what troubles have in common.
type kind struct {
	title string
	usual time.Duration // its duration, if none is given
	down  bool          // the server is stopped
}

var kinds = map[string]kind{
	"none":    {title: "no trouble"},
	"down":    {"down", 10 * time.Second, true},
	"restart": {"all clients restarted while it is down", 10 * time.Second, true},
	"crowd":   {"four times the clients, down", 10 * time.Second, true},
	half:      {"half of the capacity", time.Minute, false},
	fail:      {title: "30 % of the requests fail"},
	refuse:    {"503 immediately", 30 * time.Second, false},
	broken:    {"500 after the work", 30 * time.Second, false},
}

const failing = 0.3 // the share of the requests that fail

// String describes the trouble in a row of the table.
func (t trouble) String() string {
	lasts := ""
	if t.duration > 0 {
		lasts = fmt.Sprintf(" for %g s", t.duration.Seconds())
	}
	return fmt.Sprintf("%s%s, load %g", kinds[t.kind].title, lasts, t.load)
}

// parseTroubles returns the troubles of a list.
func parseTroubles(list string) (troubles []trouble, err error) {
	for name := range strings.SplitSeq(list, ",") {
		t, err := parseTrouble(name)
		if err != nil {
			return nil, fmt.Errorf("trouble %q: %w", name, err)
		}
		troubles = append(troubles, t)
	}
	return troubles, nil
}

// parseTrouble returns a trouble by the name of its kind, with a duration after a colon if it is not the usual one,
// and a load after an @ if it is not 0.8.
func parseTrouble(s string) (t trouble, err error) {
	rest, load, loaded := strings.Cut(s, "@")
	name, duration, timed := strings.Cut(rest, ":")
	kind, ok := kinds[name]
	if !ok {
		return t, fmt.Errorf("it is none of %s", names(kinds))
	}

	t = trouble{name, kind.usual, 0.8}
	if timed {
		t.duration, err = time.ParseDuration(duration)
		if err != nil || name == "none" || t.duration < time.Second || t.duration > time.Hour {
			return t, errors.New("its duration is not from a second to an hour")
		}
	}
	if loaded {
		t.load, err = strconv.ParseFloat(load, 64)
		if err != nil || !(t.load >= 0.01 && t.load <= 1) {
			return t, errors.New("its load is not a number from 0.01 to 1")
		}
	}
	return t, nil
}

// step is something that happens at a time after the start of a cell.
type step struct {
	at   time.Duration
	what string
	do   func() error
}

// steps returns what happens in a cell, in order.
func (c cell) steps(server *child, clients *fleet) []step {
	begin, end := c.from, c.from+c.duration
	if !kinds[c.kind].down {
		steps := []step{{begin, "it begins", func() error { return server.tell(c.kind) }}}
		if c.duration > 0 {
			steps = append(steps, step{end, "it ends", func() error { return server.tell("none") }})
		}
		return steps
	}

	steps := []step{{begin, "the server is stopped", server.stop}}
	switch c.kind {
	case "restart":
		steps = append(steps, step{begin + c.duration/2, "the clients are restarted", clients.restart})
	case "crowd":
		steps = append(steps, step{begin, "there are more clients", clients.grow})
	}
	return append(steps, step{end, "the server goes on", server.goOn})
}
