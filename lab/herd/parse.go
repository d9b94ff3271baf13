package main

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usualTroubles are healthy days, outages, and attempts that fail at random.
const usualTroubles = "none@0.3,none@0.6,none@0.8,none@0.9," +
	"10s@0.3,10s@0.6,10s@0.8,10s@0.9,60s@0.8,half@0.8,fail:10%,fail:30%"

const troubleUsage = "`troubles`, separated by commas. Each may be several of these with a + between them, and have a load\n" +
	"of its own after an @:\n" +
	"none\n" +
	"10s            down for so long\n" +
	"ramp:10s/60s   down for 10 s, then its capacity grows for 60 s\n" +
	"flap:4x10s/30s down for 10 s in each 30 s, four times\n" +
	"half:10m       half of its capacity, for a minute if it says no time\n" +
	"hang:1/3       one of three backends does nothing; each has a queue of its own, and a third of the capacity\n" +
	"roll:6x20s     each of six backends does nothing for 20 s, one after the other\n" +
	"fail:30%       of the attempts fail, after the work\n" +
	"refuse:30%     of the attempts are refused, without work (refuse:30s: all of them)\n" +
	"stuck:30%      of the attempts have no answer, and no work\n" +
	"late:30%       of the answers come after two timeouts of an attempt\n" +
	"slow:1.4       answers take 1.4 timeouts on average, exponentially distributed, besides the work\n" +
	"part:40%       of the calls have no answer, and no work; columns about the other calls follow\n" +
	"traffic:4      four times the calls begin\n" +
	"double:1m      the calls double in each minute\n" +
	"hang and those from fail on last to the end, or for a time after another colon: part:40%:30s\n" +
	"(default " + usualTroubles + ")"

var errTrouble = errors.New("is no trouble; -h lists them")

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
	names, load, loaded := strings.Cut(s, "@")
	t.name = strings.Replace(s, "@", ", ", 1)
	for name := range strings.SplitSeq(names, "+") {
		err := t.add(name)
		if err != nil {
			return t, err
		}
	}

	for _, d := range t.dips {
		if d.end < forever {
			t.duration = max(t.duration, d.end)
		}
	}
	for _, one := range t.effects {
		if one.end < forever {
			t.duration = max(t.duration, one.end)
		}
	}
	if loaded {
		t.at, err = strconv.ParseFloat(load, 64)
		if err != nil || !(t.at >= 0.01 && t.at <= 1) {
			return t, errors.New("the load after @ is not a number from 0.01 to 1")
		}
	}
	return t, nil
}

// add adds what a name says.
func (t *trouble) add(name string) error {
	kind, value, _ := strings.Cut(name, ":")
	value, length, ends := strings.Cut(value, ":")
	end, err := forever, error(nil)
	if ends {
		end, err = period(length)
	}
	if ends && slices.Contains([]string{"none", "half", "ramp", "flap", "roll"}, kind) {
		err = errTrouble
	}
	if err != nil {
		return err
	}

	switch kind {
	case "none":
		return nil
	case "half":
		end, err = period(cmp.Or(value, "1m"))
		t.dips = append(t.dips, dip{0, end, 0.5, allBackends})
	case "ramp":
		err = t.addRamp(value)
	case "flap":
		err = t.addFlapping(value)
	case "hang":
		err = t.addHang(value, end)
	case "roll":
		err = t.addRolling(value)
	case failing, refusing, stuck, late, part:
		err = t.addShare(kind, value, end)
	case slow, traffic:
		err = t.addFactor(kind, value, end)
	case doubling:
		var each time.Duration
		each, err = period(value)
		t.effects = append(t.effects, effect{kind, each.Seconds(), end})
	default:
		end, err = period(name)
		t.dips = append(t.dips, dip{0, end, 0, allBackends})
	}
	return err
}

// addRamp adds an outage, and capacity that grows after it in steps: "10s/60s".
func (t *trouble) addRamp(value string) error {
	const steps = 20
	down, growth, err := periods(value)
	t.dips = append(t.dips, dip{0, down, 0, allBackends})
	for i := range steps {
		begin := down + growth*time.Duration(i)/steps
		end := down + growth*time.Duration(i+1)/steps
		t.dips = append(t.dips, dip{begin, end, (float64(i) + 0.5) / steps, allBackends})
	}
	return err
}

// addFlapping adds several outages: "4x10s/30s".
func (t *trouble) addFlapping(value string) error {
	times, value, err1 := count(value, "x")
	down, each, err2 := periods(value)
	for i := range times {
		begin := time.Duration(i) * each
		t.dips = append(t.dips, dip{begin, begin + down, 0, allBackends})
	}
	return cmp.Or(err1, err2)
}

// addHang adds backends that hang: "1/3".
func (t *trouble) addHang(value string, end time.Duration) error {
	hanging, of, err1 := count(value, "/")
	backends, _, err2 := count(of+"/", "/")
	for i := range hanging {
		t.dips = append(t.dips, dip{0, end, 0, i})
	}
	t.backends = backends
	if hanging > backends {
		return errTrouble
	}
	return cmp.Or(err1, err2)
}

// addRolling adds backends that hang one after the other: "6x20s".
func (t *trouble) addRolling(value string) error {
	backends, value, err1 := count(value, "x")
	each, err2 := period(value)
	for i := range backends {
		begin := time.Duration(i) * each
		t.dips = append(t.dips, dip{begin, begin + each, 0, i})
	}
	t.backends = backends
	return cmp.Or(err1, err2)
}

// addShare adds what happens to a share, or to all for a time, which the value is.
func (t *trouble) addShare(kind, value string, end time.Duration) error {
	amount, err := percentage(value)
	if err != nil && kind == refusing {
		amount = 1
		end, err = period(value)
	}
	t.effects = append(t.effects, effect{kind, amount, end})
	return err
}

func (t *trouble) addFactor(kind, value string, end time.Duration) error {
	amount, err := strconv.ParseFloat(value, 64)
	if err != nil || !(amount > 0 && amount <= 100) {
		return errTrouble
	}
	t.effects = append(t.effects, effect{kind, amount, end})
	return nil
}

// period returns the duration of a trouble.
func period(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > 100*time.Hour {
		return 0, errTrouble
	}
	return d, nil
}

// periods returns two durations with a slash between them.
func periods(s string) (first, second time.Duration, err error) {
	before, after, _ := strings.Cut(s, "/")
	first, err1 := period(before)
	second, err2 := period(after)
	return first, second, cmp.Or(err1, err2)
}

// count returns the number before a separator, and what follows it.
func count(s, separator string) (n int, rest string, err error) {
	before, rest, ok := strings.Cut(s, separator)
	n, err = strconv.Atoi(before)
	if !ok || err != nil || n < 1 || n > 1000 {
		return 0, rest, errTrouble
	}
	return n, rest, nil
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
