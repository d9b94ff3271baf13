package pages_test

import (
	"flag"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", false, "compare the tables of slow commands too, which takes many minutes")

// Below a command of herd a page has the table that it prints.
var (
	simulated = regexp.MustCompile("(Slow: )?(?:`|<!-- )herd (-[^`>]+?)(?:`| -->)\\n\\n((?:\\|.*\\|\\n)+)")
	gap       = regexp.MustCompile(` {2,}`)
)

// The README has one table, without its command, without per cent signs, and with a head of its own.
var (
	readme       = "-seeds 3 -trouble 10s@0.8,fail:30% -only no,3,slots"
	readmeFigure = regexp.MustCompile(`(?m)^Calls lost, %.*\n---.*\n((?:.*\|.*\n)+)`)
)

// Each row of a table below a command of herd has the cells that it prints. Slow commands run only with -long.
func TestFigures(t *testing.T) {
	herd := build(t, "herd")
	run := func(t *testing.T, flags string) string {
		t.Parallel()
		output, err := exec.Command(herd, strings.Fields(flags)...).CombinedOutput()
		require.NoError(t, err, string(output))
		return string(output)
	}

	for page, tables := range map[string]int{"docs/evidence.md": 8, "docs/extending.md": 1} {
		found := simulated.FindAllStringSubmatch(read(t, page), -1)
		require.Len(t, found, tables, "tables below a command of herd in %s", page)
		for _, table := range found {
			t.Run(table[2], func(t *testing.T) {
				if table[1] != "" && !*long {
					t.Skip("slow")
				}
				requireRows(t, strings.Split(strings.TrimSpace(table[3]), "\n"), run(t, table[2]))
			})
		}
	}
	t.Run("README", func(t *testing.T) {
		table := readmeFigure.FindStringSubmatch(read(t, "README.md"))
		require.NotNil(t, table)
		printed := strings.ReplaceAll(run(t, readme), " %", "")
		requireRows(t, strings.Split(strings.TrimSpace(table[1]), "\n"), printed)
	})
}

// requireRows reports rows of a table that are not among the lines that a command prints.
func requireRows(t *testing.T, rows []string, printed string) {
	t.Helper()
	var lines [][]string
	for line := range strings.Lines(printed) {
		lines = append(lines, gap.Split(strings.TrimSpace(line), -1))
	}
	for _, row := range rows {
		if strings.HasPrefix(row, "|---") {
			continue
		}
		said := cells(row)
		if said[0] == "" { // the head, of which the last line may have parts of the names
			said = said[1:]
		}
		same := func(line []string) bool { return slices.EqualFunc(said, line, strings.HasSuffix) }
		if !slices.ContainsFunc(lines, same) {
			t.Errorf("the page says %q, the command prints\n%s", said, printed)
		}
	}
}

// cells returns the cells of a row of a table, without emphasis.
func cells(row string) []string {
	all := strings.Split(strings.Trim(strings.ReplaceAll(row, "*", ""), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}
