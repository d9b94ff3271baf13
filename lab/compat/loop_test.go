// Package compat compares this library with github.com/cenkalti/backoff v4, which it replaces: whole
// loops, tickers and intervals, under settings drawn at random. The script run, beside these tests,
// runs the tests of projects that depend on v4.
package compat_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// FuzzLoop runs whole loops with this library and with cenkalti/backoff v4, and compares their
// calls, notifications, waits, values and errors, each with its time; and then tickers, with the ticks that a
// receiver gets and the end of the channel. Differences must be those that docs/migrating.md lists. Each that a
// loop can show has a rule below; no other is let through.
func FuzzLoop(f *testing.F) {
	for _, s := range scripts(300) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s []byte) { compare(t, s) })
}

// Every rule is needed: scenarios that use it do come up.
func TestLoopRules(t *testing.T) {
	uses := map[rule]int{}
	for _, s := range scripts(20_000) {
		for rule := range compare(t, s) {
			uses[rule]++
		}
	}
	for _, rule := range rules {
		require.Positive(t, uses[rule], rule)
	}
}

// scripts returns n scripts drawn at random, always the same.
func scripts(n int) [][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	all := make([][]byte, n)
	for i := range all {
		all[i] = make([]byte, 16+r.IntN(80))
		for j := range all[i] {
			all[i][j] = byte(r.Uint32())
		}
	}
	return all
}

// A rule is a difference on purpose from cenkalti/backoff v4.
type rule string

const (
	ruleContextError rule = "when the context ends, the error has the cause and the last error besides"
	ruleBefore       rule = "if the context ended the last attempt, the error has that of the attempt before, too"
	ruleRefusal      rule = "a later wait that would pass the deadline is not begun and not notified"
	ruleDone         rule = "no call and no notification once the context is done"
	rulePermanent    rule = "a permanent error below others keeps their text, all marks go, and an empty one is a failure"
	ruleUnwrap       rule = "a context is found through decorators with Unwrap"
	ruleNegative     rule = "any negative wait stops"
	ruleFields       rule = "fields that v4 cannot handle have a meaning"
	ruleChanged      rule = "fields changed before the first NextBackOff count without a Reset"
	ruleNilPolicy    rule = "a nil policy is the default one"
	ruleNoChannel    rule = "a Timer without a channel ends the loop"
	ruleTickerDone   rule = "a ticker ends with its context"
)

var rules = []rule{
	ruleContextError, ruleBefore, ruleRefusal, ruleDone, rulePermanent, ruleUnwrap, ruleNegative, ruleFields,
	ruleChanged, ruleNilPolicy, ruleNoChannel, ruleTickerDone,
}

// A trace is what happened in a run.
type trace struct {
	events []event
	end    time.Duration
	value  int
	err    error
	last   error // the operation's
	before error // that of the call before
	cut    bool  // the visible context had ended when the last call returned
	fails  failure
	ctx    error // the visible context's error when the loop had ended
	cause  error // and its cause
}

type eventKind string

const (
	call   eventKind = "call"
	notify eventKind = "notify"
	start  eventKind = "start" // of a Timer
)

type event struct {
	kind eventKind
	at   time.Duration
	n    int           // the call's number, or that of the last one
	wait time.Duration // notified, or the Timer's
	done bool          // the visible context was done
}

// compare runs the scenario of a script, and returns the rules that it used.
func compare(t *testing.T, s []byte) map[rule]bool {
	rest := script(s)
	sc := newScenario(&rest)
	used := map[rule]bool{}
	use := func(r rule) { used[r] = true }
	synctest.Test(t, func(t *testing.T) {
		sc.compareLoops(t, s, own, use)
		if sc.timer == noTimer {
			unnotified := sc
			unnotified.notify = false
			unnotified.compareLoops(t, s, ownAttempts, use)
		}
		sc.compareTickers(t, s, use)
	})
	return used
}

func (sc scenario) compareLoops(t *testing.T, s []byte, l library, use func(rule)) {
	theirs, ours := v4.run(sc, use), l.run(sc, use)
	want := sc.expect(theirs, use)
	problem := want.judge(ours, theirs, use)
	if !slices.Equal(want.events, sc.without(ours.events)) || want.end != ours.end || want.value != ours.value {
		problem = fmt.Sprintf("want events %+v, end %v, value %v", want.events, want.end, want.value)
	}
	if problem != "" {
		t.Fatalf("%s\nscript %q\nscenario %+v\n%s %+v\nv4 %+v", problem, s, sc, l.name, ours, theirs)
	}
}

// expectation is what this library must do, where v4 did what it did.
type expectation struct {
	events []event
	end    time.Duration
	value  int
	result result
}

type result int

const (
	success     result = iota // a success
	ended                     // by the context
	refused                   // a wait past the deadline
	lastError                 // unchanged
	permanently               // by a PermanentError
)

// expect applies the rules about what happens to v4's trace.
func (sc scenario) expect(theirs trace, use func(rule)) expectation {
	want := expectation{end: theirs.end, value: theirs.value, events: theirs.events}
	cut := func(i int, r rule, result result) {
		use(r)
		want = expectation{end: theirs.events[i].at, value: theirs.events[i].n, events: theirs.events[:i], result: result}
		if theirs.events[i].kind == call {
			want.value--
		}
	}
	due, hasDeadline := sc.deadline()
	waited := false
	for i, e := range theirs.events {
		switch {
		case e.done && (e.kind == notify || e.kind == call && e.n > 1):
			cut(i, ruleDone, ended)
		case e.kind == notify && waited && hasDeadline && sc.timer == noTimer && e.wait >= due-e.at:
			cut(i, ruleRefusal, refused)
		default:
			waited = waited || e.kind == notify && e.wait > 0
			continue
		}
		break
	}
	if want.result == success {
		switch {
		case theirs.fails >= permanent && theirs.last != nil:
			want.result = permanently
		case errors.Is(theirs.err, errNoChannel):
			use(ruleNoChannel)
			want.result = lastError
			if theirs.ctx != nil {
				want.result = ended
			}
		case theirs.err != nil && theirs.ctx != nil && theirs.err == theirs.ctx:
			want.result = ended
		case theirs.err != nil:
			want.result = lastError
		}
	}
	want.events = sc.without(want.events)
	return want
}

// without returns the events that are compared. Left out are notifications that only the rules need
// (v4 always has a notify), and Starts of a Timer for a context that is done already.
func (sc scenario) without(events []event) []event {
	return slices.DeleteFunc(slices.Clone(events), func(e event) bool {
		return e.kind == notify && !sc.notify || e.kind == start && e.done
	})
}

// judge says what is wrong with the error of this library's run.
func (want expectation) judge(ours, theirs trace, use func(rule)) string {
	err, last := ours.err, ours.last
	switch {
	case want.result == permanently:
		return judgePermanent(ours, theirs, use)
	case want.result == success && err != nil:
		return "no error was expected"
	case want.result == lastError && err != last:
		return "the last error was expected, unchanged"
	case want.result == success || want.result == lastError:
		return ""
	case want.result == refused && ours.ctx != nil:
		return "the context was expected not to be done"
	}
	of, cause := ours.ctx, ours.cause // what the error must match besides the last one
	if want.result == refused {
		of, cause = context.DeadlineExceeded, nil
	}
	var before error
	if ours.cut && ours.before != nil {
		use(ruleBefore)
		before = ours.before
	}
	bare := of == last && (cause == nil || cause == last) && (before == nil || before == last)
	if !bare {
		use(ruleContextError)
	}
	switch {
	case err == nil || of == nil:
		return "the context's error was expected"
	case bare && want.result == ended && err != of:
		return "the context's error was expected, bare"
	case !errors.Is(err, of) || !errors.Is(err, last) || cause != nil && !errors.Is(err, cause):
		return "the error lacks the context's, its cause's or the operation's"
	case before != nil && !errors.Is(err, before):
		return "the error lacks that of the attempt before"
	case slices.ContainsFunc(bases, func(base error) bool {
		return errors.Is(err, base) && !errors.Is(last, base) && !errors.Is(before, base)
	}):
		return "the error has that of an earlier attempt"
	case strings.Contains(err.Error(), "\n"):
		return "the error has more than one line"
	case os.IsTimeout(err) != os.IsTimeout(of):
		return "the error's Timeout is not the context's"
	}
	return ""
}

func judgePermanent(ours, theirs trace, use func(rule)) string {
	err := ours.err
	if ours.fails == permanent {
		if err != theirs.err {
			return "the error without its mark was expected"
		}
		return ""
	}
	use(rulePermanent)
	switch {
	case err == nil:
		return "a failure was expected"
	case errors.As(err, new(*backoff.PermanentError)):
		return "the mark is still there"
	case err.Error() != ours.last.Error():
		return "the text is not that of the whole"
	}
	if base := theirs.err; base != nil {
		for {
			mark, ok := base.(*cenkalti4.PermanentError)
			if !ok {
				break
			}
			base = mark.Err
		}
		if !errors.Is(err, base) {
			return "the error does not match what was marked"
		}
	}
	if ours.fails == permanentJoined && !errors.Is(err, errBeside) {
		return "the error does not match what stands beside the marked one"
	}
	return ""
}

// deadline returns when the visible context ends by its deadline.
func (sc scenario) deadline() (time.Duration, bool) {
	if i := sc.visible(); i >= 0 && sc.decorators[i].context.kind == deadline {
		return sc.decorators[i].context.after, true
	}
	return 0, false
}
