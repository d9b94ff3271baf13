package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	troubleAt = 30 * time.Second // when services get into trouble
	flapping  = 5 * time.Second  // for how long one that flaps is up, and down
	degraded  = 2 * time.Minute  // how long half of the capacity, and flapping, last
)

// trouble is what a service gets into.
type trouble struct {
	name     string        // the head of its column
	duration time.Duration // for how long
	left     float64       // share of its capacity meanwhile
	flaps    bool          // it goes down and comes back, again and again
	failing  float64       // rate at which attempts fail from then on
}

// described says what happens.
func (t trouble) described() string {
	switch {
	case t.flaps:
		return fmt.Sprintf("%s down, %[1]s up, for %s", spoken(flapping), spoken(t.duration))
	case t.left > 0:
		return "half of the capacity for " + spoken(t.duration)
	case t.failing > 0:
		return fmt.Sprintf("down for %s, then %g %% of attempts fail", spoken(t.duration), t.failing*100)
	case t.duration == 0:
		return "no trouble"
	}
	return "down for " + spoken(t.duration)
}

// spoken returns a time in seconds or minutes.
func spoken(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%g min", d.Minutes())
}

// usualTroubles are those in the tables of the pages.
const usualTroubles = "10s,60s,half,flapping,10%,30%"

// setTroubles sets troubles that are separated by commas.
func (c *config) setTroubles(s string) error {
	c.troubles = nil
	for _, name := range strings.Split(s, ",") {
		t, err := parseTrouble(name)
		if err != nil {
			return err
		}
		c.troubles = append(c.troubles, t)
	}
	return nil
}

func parseTrouble(name string) (trouble, error) {
	switch name {
	case "none":
		return trouble{name: name}, nil
	case "half":
		return trouble{name: name, duration: degraded, left: 0.5}, nil
	case "flapping":
		return trouble{name: name, duration: degraded, flaps: true}, nil
	}
	if percent, ok := strings.CutSuffix(name, "%"); ok {
		rate, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(rate > 0 && rate <= 100) {
			return trouble{}, errors.New("not a percentage above zero")
		}
		return trouble{name: percent + " %", duration: 10 * time.Second, failing: rate / 100}, nil
	}
	duration, err := time.ParseDuration(name)
	if err != nil || duration < time.Second || duration > 100*time.Hour {
		return trouble{}, errors.New("not none, half, flapping, a percentage or a time from 1s on")
	}
	return trouble{name: fmt.Sprintf("%g s", duration.Seconds()), duration: duration}, nil
}

// capacity returns the share of its capacity that a service has at a time, and until when.
func (p plan) capacity(at time.Duration) (share float64, until time.Duration) {
	switch {
	case at < p.from:
		return 1, p.from
	case at >= p.back():
		return 1, math.MaxInt64
	case !p.flaps:
		return p.left, p.back()
	}
	phase := (at - p.from) / flapping
	return float64(phase % 2), min(p.back(), p.from+(phase+1)*flapping)
}

// done returns when a service has done work that it begins at a time.
func (p plan) done(begin, work time.Duration) time.Duration {
	for {
		share, until := p.capacity(begin)
		able := time.Duration(share * float64(until-begin))
		if until == math.MaxInt64 || able >= work {
			return begin + time.Duration(float64(work)/share)
		}
		work -= able
		begin = until
	}
}
