// Package wrappers_test runs wrappers in the manner of real programs on github.com/cenkalti/backoff/v4, in two
// builds: with its v4.3.0, and with a replace line that puts this repository's cenkalti in its place. What they do must
// be the same, but for what docs/migrating.md lists.
package wrappers_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff/lab/compat/builds"
)

var out = flag.String("out", "", "the file to which the build with this repository's cenkalti writes what the wrappers do")

// differing are wrappers in scenes where the two differ on purpose: here no attempt follows the end of the context, nor
// a notification or a tick. (WithContext's policy stops then. One that has a context and does not stop shows it.)
var differing = []string{
	"a BackOffContext of its own | a deadline in a call",
	"a BackOffContext of its own | cancelled before",
	"a BackOffContext of its own | cancelled in a call that ends with it",
	"a BackOffContext of its own | cancelled in a call that fails",
	"a ticker | a deadline in a call",
}

// Calls, times, waits that are notified, values, and the errors with their text, their type and what they match are
// those of v4.3.0.
func TestWrappers(t *testing.T) {
	traces := map[string]string{}
	for _, w := range wrappers {
		for _, s := range scenes {
			traces[w.name+" | "+s.name] = run(t, w, s)
		}
	}
	require.Len(t, traces, len(wrappers)*len(scenes), "two have the same name")

	if builds.Replaced() {
		text, err := json.Marshal(traces)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(*out, text, 0o666))
		return
	}

	var here map[string]string
	text := builds.Run(t, "../../..", "^(TestWrappers|TestDifferences)$")
	require.NoError(t, json.Unmarshal(text, &here))
	require.Len(t, here, len(traces))
	for name, there := range traces {
		if slices.Contains(differing, name) {
			require.NotEqual(t, there, here[name], name)
		} else {
			require.Equal(t, there, here[name], name)
		}
	}
	t.Logf("%d wrappers in %d scenes: %d of %d traces are the same", len(wrappers), len(scenes), len(traces)-len(differing), len(traces))
}
