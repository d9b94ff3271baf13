package pages_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README shows lines that examples/flaky has printed.
func TestShownOutput(t *testing.T) {
	_, shown, found := strings.Cut(read(t, "README.md"), "```text\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	output := read(t, "examples/flaky/testdata/output.txt")
	for line := range strings.Lines(shown) {
		require.Contains(t, output, line)
	}
}
