package pages_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of rules in measured.md has the cells that the test named above it prints.
func TestRulesFigures(t *testing.T) {
	const command = "go test -C lab/herd -run RulesTable -rules"
	page := regexp.MustCompile("`" + command + "`\\n\\n((?:\\|.*\\|\\n)+)")
	found := page.FindStringSubmatch(read(t, "docs/measured.md"))
	require.NotNil(t, found, "docs/measured.md has no table below %s", command)

	test := exec.Command("go", strings.Fields(command)[1:]...)
	test.Dir = "../.."
	output, err := test.CombinedOutput()
	require.NoError(t, err, string(output))

	var printed [][]string
	for line := range strings.Lines(string(output)) {
		printed = append(printed, gap.Split(strings.TrimSpace(line), -1))
	}
	for _, row := range strings.Split(strings.TrimSpace(found[1]), "\n")[2:] {
		said := cells(row)
		same := func(line []string) bool { return slices.Equal(line, said) }
		if !slices.ContainsFunc(printed, same) {
			t.Errorf("the page says %q, the test prints\n%s", said, output)
			return
		}
	}
}
