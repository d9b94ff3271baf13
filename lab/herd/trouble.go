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
	degraded  = time.Minute      // how long half of the capacity, and flapping, last
)

// trouble is what a service gets into.
type trouble struct {
	name     string        // the head of its column
	duration time.Duration // for how long
	left     float64       // share of its capacity meanwhile
	flaps    bool          // it goes down and comes back, again and again
	failing  float64       // rate at which attempts fail from then on
	hanging  float64       // share of calls that hang forever from then on
	at       float64       // load, if it is not that of the flags
}

// described says what happens.
func (t trouble) described() string {
	switch {
	case t.flaps:
		return fmt.Sprintf("%s down, %[1]s up, for %s", spoken(flapping), spoken(t.duration))
	case t.failing > 0:
		return fmt.Sprintf("%g %% of attempts fail", t.failing*100)
	case t.hanging > 0:
		return fmt.Sprintf("%g %% of calls hang forever", t.hanging*100)
	case t.left > 0:
		return "half of the capacity for " + spoken(t.duration)
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

// usualTroubles are those of the first table of docs/evidence.md.
const usualTroubles = "10s@0.6,10s@0.8,10s@0.9,60s@0.8,half@0.8"

// setTroubles sets troubles that are separated by commas.
func (c *config) setTroubles(s string) error {
	c.troubles = nil
	for name := range strings.SplitSeq(s, ",") {
		t, err := parseTrouble(name)
		if err != nil {
			return err
		}
		c.troubles = append(c.troubles, t)
	}
	return nil
}

// parseTrouble returns the trouble of a name, and perhaps a load after an @.
func parseTrouble(s string) (t trouble, err error) {
	name, load, loaded := strings.Cut(s, "@")
	switch {
	case name == "none":
	case name == "half":
		t = trouble{duration: degraded, left: 0.5}
	case name == "flapping":
		t = trouble{duration: degraded, flaps: true}
	case strings.HasPrefix(name, "hang:"):
		t.left = 1
		t.hanging, err = percentage(name[len("hang:"):])
	case strings.HasPrefix(name, "fail:"):
		t.left = 1
		t.failing, err = percentage(name[len("fail:"):])
	default:
		t.duration, err = time.ParseDuration(name)
		if err != nil || t.duration < time.Second || t.duration > 100*time.Hour {
			err = errors.New("not none, half, flapping, hang:N%, fail:N% or a time from 1s on")
		}
	}
	if loaded && err == nil {
		t.at, err = strconv.ParseFloat(load, 64)
		if err != nil || !(t.at >= 0.01 && t.at <= 1) {
			err = errors.New("the load after @ is not a number from 0.01 to 1")
		}
	}
	t.name = strings.Replace(s, "@", ", ", 1)
	return t, err
}

// percentage returns a share that is written in per cent.
func percentage(s string) (float64, error) {
	number, ok := strings.CutSuffix(s, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, errors.New("not a percentage above zero")
	}
	return percent / 100, nil
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
