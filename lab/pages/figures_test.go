package pages_test

import (
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", false, "compare the figures of the simulations too, which takes some minutes")

// Tables of figures, and the commands that print them.
var (
	tableAbove = regexp.MustCompile("((?:.*\\|.*\n)+)\n```sh\n(?:go run -C lab ./)?herd (.*)\n```")
	tableBelow = regexp.MustCompile("()`(?:go run -C lab ./)?herd (-.+)`\n\n((?:.*\\|.*\n)+)")
	charted    = regexp.MustCompile("`go run -C lab ./herd (.*) -svg ../docs/load.svg`")

	// The README has a table of the ways to call, with words beside the figures.
	callers = regexp.MustCompile(`\| Callers make .*\n\|.*\n((?:\|.*\n)+)`)

	quoted = regexp.MustCompile(`"[^"]*"|[^ ]+`)
)

// Each row of a table has the name and the figures of one that its command prints, and so has each column. Without -long,
// names alone are compared. Tables with real servers are never the same again.
func TestFigures(t *testing.T) {
	herd := build(t, "herd")
	found := 0
	for _, page := range []string{"docs/evidence.md", "docs/extending.md"} {
		for _, tables := range []*regexp.Regexp{tableAbove, tableBelow} {
			for _, one := range tables.FindAllStringSubmatch(read(t, page), -1) {
				table, command := one[1], one[2]
				if table == "" {
					table = one[3]
				}
				found++
				t.Run(command, func(t *testing.T) {
					t.Parallel()
					requireFigures(t, table, output(t, herd, command), equalIn(command))
				})
			}
		}
	}
	require.GreaterOrEqual(t, found, 4, "tables of figures")
}

// output returns the rows that a command of herd prints, without figures unless they are wanted.
func output(t *testing.T, herd, command string) [][]string {
	t.Helper()
	args := quoted.FindAllString(command, -1)
	for i := range args {
		args[i] = strings.Trim(args[i], `"`)
	}
	if !*long || strings.Contains(command, "-scenario servers") {
		args = append(args, "-seeds", "0")
	}
	out, err := exec.Command(herd, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return rowsOf(string(out))
}

// rowsOf returns the cells of the rows of a table, without emphasis.
func rowsOf(table string) (rows [][]string) {
	for row := range strings.Lines(strings.ReplaceAll(table, "*", "")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// requireFigures reports rows, columns and figures that are not what a command prints.
func requireFigures(t *testing.T, table string, printed [][]string, equal func(a, b string) bool) {
	t.Helper()
	find := func(names []string, name string) int {
		for i, one := range names {
			if one == name {
				return i
			}
		}
		t.Errorf("the page says %q, the command prints %q", name, names)
		return 0
	}
	var names []string
	for _, row := range printed {
		names = append(names, row[0])
	}

	rows := rowsOf(table)
	for _, row := range rows[2:] {
		want := printed[find(names, row[0])]
		for i, way := range rows[0][1:] {
			column := i + 1
			if column >= len(want) || printed[0][column] != way {
				column = find(printed[0], way)
			}
			figure := want[column]
			if !equal(figure, row[i+1]) {
				t.Errorf("the page says %s in %q for %q, the command prints %s", row[i+1], row[0], way, figure)
			}
		}
	}
}

// equalIn returns how figures of a command are compared. Some other libraries have random numbers of their own: with
// these, means may differ by little.
func equalIn(command string) func(a, b string) bool {
	return func(one, other string) bool {
		a, err1 := strconv.ParseFloat(one, 64)
		b, err2 := strconv.ParseFloat(other, 64)
		switch {
		case !*long || strings.Contains(command, "-scenario servers") || one == other:
			return true
		case strings.Contains(command, "-scenario peers"), strings.Contains(command, "-scenario scenes"):
			return err1 == nil && err2 == nil && math.Abs(a-b) <= max(1, 0.1*a)
		}
		return false
	}
}

// The chart is what its command draws, and the README has the figures of the same outage.
func TestOutage(t *testing.T) {
	command := charted.FindStringSubmatch(read(t, "docs/evidence.md"))
	require.NotNil(t, command, "the chart's command")
	said := rowsOf(callers.FindStringSubmatch(read(t, "README.md"))[1])
	columns := map[string]string{
		"no retries":                "no retries",
		"three retries, with Slots": "slots",
	}
	if !*long {
		t.Skip("slow")
	}

	herd := build(t, "herd")
	drawn := filepath.Join(t.TempDir(), "load.svg")
	output(t, herd, command[1]+" -svg "+drawn)
	chart, err := os.ReadFile(drawn)
	require.NoError(t, err)
	require.True(t, read(t, "docs/load.svg") == string(chart), "draw docs/load.svg anew, by the command below it in docs/evidence.md")

	printed := output(t, herd, `-only "down for 10 s"`)
	for _, row := range said {
		way := columns[strings.ReplaceAll(row[0], "`", "")]
		for i, column := range printed[0] {
			if column == way {
				require.Equal(t, printed[2][i]+" s", row[1], row[0])
			}
		}
	}
}
