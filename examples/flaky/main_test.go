//go:build go1.25

package main

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"example.com/backoff/examples/memory"
)

// varying is what depends on the random waits: times, and how many calls waited when the server hung.
var varying = regexp.MustCompile(` *\d+\.\d+s|\d+ wait in line|\d+ calls have succeeded|\d+ have failed`)

// The output, in simulated time, is that in testdata but for what varies. To renew it, run
// go run ./examples/flaky >examples/flaky/testdata/output.txt
func TestOutput(t *testing.T) {
	var got bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		network := memory.Listen()
		run(t.Context(), network, &http.Transport{DialContext: network.Dial}, &got)
	})

	want, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	require.Equal(t,
		varying.ReplaceAllString(strings.ReplaceAll(string(want), "\r\n", "\n"), "…"),
		varying.ReplaceAllString(got.String(), "…"))
}
