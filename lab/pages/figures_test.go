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

var (
	// The README has its command in a comment.
	simulated = regexp.MustCompile("(Slow: )?(?:`|<!-- )herd (-[^`>]+?)(?:`| -->)\\n\\n((?:\\|.*\\|\\n)+)")
	gap       = regexp.MustCompile(` {2,}`)

	// The README knows only one rule for slots, and names a row by its retries first.
	shortNames = strings.NewReplacer(
		"slots of the own rate, no retries", "no retries, slots",
		"slots of the own rate", "3 retries, slots",
	)
)

// Each row of a table below a command of herd has the cells that it prints. Slow commands run only with
// -long. The README's heads are its own, and its rows have short names.
func TestFigures(t *testing.T) {
	herd := build(t, "herd")
	for page, tables := range map[string]int{"README.md": 1, "docs/evidence.md": 8} {
		found := simulated.FindAllStringSubmatch(read(t, page), -1)
		require.Len(t, found, tables, "tables below a command of herd in %s", page)
		for _, table := range found {
			t.Run(table[2], func(t *testing.T) {
				t.Parallel()
				if table[1] != "" && !*long {
					t.Skip("slow")
				}
				output, err := exec.Command(herd, strings.Fields(table[2])...).CombinedOutput()
				require.NoError(t, err, string(output))
				printed := string(output)
				rows := strings.Split(strings.TrimSpace(table[3]), "\n")
				if page == "README.md" {
					printed = shortNames.Replace(printed)
					rows = rows[1:]
				}
				requireRows(t, rows, printed)
			})
		}
	}
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
