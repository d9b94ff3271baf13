//go:build unix

package main

import "time"

// The kinds of trouble that the server is told of.
const (
	half = "half"
	fail = "fail"
	none = "none"
)

// kind is a kind of trouble of a server or its clients.
type kind struct {
	title    string
	load     float64       // the share of the capacity that the operations need
	duration time.Duration // zero: it lasts to the end
	down     bool          // the server is stopped
}

var kinds = map[string]kind{
	"down":    {"down", 0.8, 10 * time.Second, true},
	"restart": {"down, all clients restart", 0.8, 10 * time.Second, true},
	"crowd":   {"down, four times the clients", 0.8, 10 * time.Second, true},
	half:      {"half of the capacity", 0.6, time.Minute, false},
	fail:      {"30 % of the requests fail", 0.6, 0, false},
}

const failing = 0.3 // the share of the requests that fail

// step is something that happens at a time after the start of a cell.
type step struct {
	at   time.Duration
	what string
	do   func() error
}

// steps returns what happens in a cell, in order.
func (c cell) steps(server *child, clients *fleet) []step {
	begin, end := c.from, c.from+c.duration
	if !kinds[c.trouble].down {
		steps := []step{{begin, "it begins", func() error { return server.tell(c.trouble) }}}
		if c.duration > 0 {
			steps = append(steps, step{end, "it ends", func() error { return server.tell(none) }})
		}
		return steps
	}

	steps := []step{{begin, "the server is stopped", server.stop}}
	switch c.trouble {
	case "restart":
		steps = append(steps, step{begin + c.duration/2, "the clients are restarted", clients.restart})
	case "crowd":
		steps = append(steps, step{begin, "there are more clients", clients.grow})
	}
	return append(steps, step{end, "the server goes on", server.goOn})
}
