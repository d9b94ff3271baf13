//go:build unix

package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/backoff/lab/report"
)

// The kinds of trouble that have a name in the code: a server is told of half and fail, and of none when they end.
const (
	none = "none"
	half = "half"
	fail = "fail"
	hang = "hang"
)

const usualTroubles = "down,down:60s,half,half:180s,restart,crowd,fail,hang,none"

// kind is a kind of trouble of a server or its clients.
type kind struct {
	title    string
	load     float64       // the share of the capacity that the operations need, if the trouble says nothing else
	duration time.Duration // zero: it lasts to the end
	stops    bool          // a server is stopped
}

var kinds = map[string]kind{
	none:      {"none", 0.9, 0, false},
	"down":    {"down", 0.8, 10 * time.Second, true},
	"restart": {"down, all clients restart", 0.8, 10 * time.Second, true},
	"crowd":   {"down, four times the clients", 0.8, 10 * time.Second, true},
	half:      {"half of the capacity", 0.8, time.Minute, false},
	fail:      {"30 % of the requests fail", 0.6, 0, false},
	hang:      {"one of three servers is down", 0.6, time.Minute, true},
}

const failing = 0.3 // the share of the requests that fail

// trouble is a trouble with its load and duration.
type trouble struct {
	name string // of its kind
	kind
}

// parseTrouble returns the trouble that a text describes: the name of a kind, a duration after a colon, and a load
// after an @.
func parseTrouble(s string) (trouble, error) {
	text, load, loaded := strings.Cut(s, "@")
	name, duration, ends := strings.Cut(text, ":")
	t := trouble{name, kinds[name]}
	if t.title == "" {
		return t, fmt.Errorf("%q is none of %s", name, report.Names(kinds))
	}

	var err1, err2 error
	if ends {
		t.duration, err1 = time.ParseDuration(duration)
	}
	if loaded {
		t.load, err2 = strconv.ParseFloat(load, 64)
	}
	if cmp.Or(err1, err2) != nil || t.duration < 0 || !(t.load > 0 && t.load <= 1) {
		return t, fmt.Errorf("%q has no positive duration, or no load up to 1", s)
	}
	return t, nil
}

func parseTroubles(list string) (all []trouble, err error) {
	for s := range strings.SplitSeq(list, ",") {
		t, err := parseTrouble(s)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// String returns what the trouble is called in the table.
func (t trouble) String() string {
	if t.duration == 0 {
		return fmt.Sprintf("%s, load %g", t.title, t.load)
	}
	return fmt.Sprintf("%s, %g s, load %g", t.title, t.duration.Seconds(), t.load)
}

// backends returns the number of servers, each of which has so many workers.
func (t trouble) backends() (n, workersOfEach int) {
	if t.name == hang {
		return 3, 3
	}
	return 1, workers
}

// step is something that happens at a time after the start of a cell.
type step struct {
	at   time.Duration
	what string
	do   func() error
}

// steps returns what happens in a cell, in order. The first of the servers is the one that is in trouble.
func (c cell) steps(server *child, clients *fleet) []step {
	begin, end := c.from, c.from+c.duration
	switch {
	case c.trouble.name == none:
		return nil
	case !c.stops:
		steps := []step{{begin, "it begins", func() error { return server.tell(c.trouble.name) }}}
		if c.duration > 0 {
			steps = append(steps, step{end, "it ends", func() error { return server.tell(none) }})
		}
		return steps
	}

	steps := []step{{begin, "the server is stopped", server.stop}}
	switch c.trouble.name {
	case "restart":
		steps = append(steps, step{begin + c.duration/2, "the clients are restarted", clients.restart})
	case "crowd":
		steps = append(steps, step{begin, "there are more clients", clients.grow})
	}
	if c.duration > 0 {
		steps = append(steps, step{end, "the server goes on", server.goOn})
	}
	return steps
}
