package compat_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/lab/compat/builds"
)

var out = flag.String("out", "", "the file to which the build with this repository's cenkalti writes what loops did")

// A pathTrace is a trace that one build writes and the other reads.
type pathTrace struct {
	Events []string
	End    time.Duration
	Value  int
	Err    string // its text and its type
}

// Under v4's path, whole loops do what they do in v4, but for what comes after the context has ended.
func TestPath(t *testing.T) {
	const n = 5_000
	var here []pathTrace
	if !builds.Replaced() {
		require.NoError(t, json.Unmarshal(builds.Run(t, "../..", "^TestPath$"), &here))
		require.Len(t, here, n)
	}

	var all []pathTrace
	cut := 0
	for i, s := range scripts(n) {
		rest := script(s)
		sc := newScenario(&rest)
		var tr trace
		synctest.Test(t, func(*testing.T) { tr = v4.run(sc, func(rule) {}) })
		if builds.Replaced() {
			all = append(all, tr.path())
			continue
		}
		if tr.cutShort() {
			cut++
		}
		require.Equal(t, tr.path(), here[i], "script %q\nscenario %+v", s, sc)
	}
	if builds.Replaced() {
		text, err := json.Marshal(all)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(*out, text, 0o666))
		return
	}
	require.Positive(t, cut)
	t.Logf("%d loops, %d of them cut short when their context ended", n, cut)
}

// cutShort ends a trace where the first thing happens after the context has ended, and reports whether there is one.
func (tr *trace) cutShort() bool {
	i := slices.IndexFunc(tr.events, func(e event) bool {
		return e.done && (e.kind == notify || e.kind == call && e.n > 1)
	})
	if i < 0 {
		return false
	}
	first := tr.events[i]
	tr.events = tr.events[:i]
	tr.end = first.at
	tr.value = first.n
	if first.kind == call {
		tr.value-- // the call before
	}
	tr.err = tr.ctx
	return true
}

func (tr trace) path() pathTrace {
	p := pathTrace{End: tr.end, Value: tr.value, Err: fmt.Sprintf("%T: %v", tr.err, tr.err)}
	for _, e := range tr.events {
		if e.kind == start && e.done {
			continue // a Timer is not started for a context that is done
		}
		p.Events = append(p.Events, fmt.Sprintf("%+v", e))
	}
	return p
}
