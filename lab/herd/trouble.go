package main

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"
)

const refusal = time.Millisecond // how long it takes to refuse an attempt

// trouble is what a service gets into.
type trouble struct {
	name     string        // the head of its column
	duration time.Duration // for how long
	left     float64       // share of its capacity meanwhile
	failing  float64       // rate at which attempts fail from then on, after the work
	refusing float64       // rate at which they are refused without any work, from then on or for the duration
	at       float64       // load, if it is not that of the flags
}

// usualTroubles are healthy days, outages, and attempts that fail at random.
const usualTroubles = "none@0.3,none@0.6,none@0.8,none@0.9," +
	"10s@0.3,10s@0.6,10s@0.8,10s@0.9,60s@0.8,half@0.8,fail:10%,fail:30%"

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
	kind, value, _ := strings.Cut(name, ":")
	t = trouble{name: strings.Replace(s, "@", ", ", 1), left: 1}
	switch {
	case name == "none":
	case kind == "fail":
		t.failing, err = percentage(value)
	case kind == "refuse":
		t.refusing, err = percentage(value)
		if err != nil {
			t.refusing = 1
			t.duration, err = period(value)
		}
	case kind == "half":
		t.left = 0.5
		t.duration, err = period(cmp.Or(value, "1m"))
	default:
		t.left = 0
		t.duration, err = period(name)
	}

	if loaded && err == nil {
		t.at, err = strconv.ParseFloat(load, 64)
		if err != nil || !(t.at >= 0.01 && t.at <= 1) {
			err = errors.New("the load after @ is not a number from 0.01 to 1")
		}
	}
	return t, err
}

// period returns the duration of a trouble.
func period(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > 100*time.Hour {
		return 0, errors.New("not none, half, fail:N%, refuse:N% or a time from 1s on")
	}
	return d, nil
}

// refuses reports whether an attempt that comes now is refused, by a random number below 1.
func (p plan) refuses(now time.Duration, random float64) bool {
	over := p.duration > 0 && now >= p.back()
	return now >= p.from && !over && random < p.refusing
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

// done returns when a service has done work that it begins at a time.
func (p plan) done(begin, work time.Duration) time.Duration {
	for _, phase := range []struct {
		until    time.Duration
		capacity float64
	}{{p.from, 1}, {p.back(), p.left}} {
		able := time.Duration(phase.capacity * float64(max(0, phase.until-begin)))
		if able > 0 && able >= work {
			return begin + time.Duration(float64(work)/phase.capacity)
		}
		work -= able
		begin = max(begin, phase.until)
	}
	return begin + work
}
