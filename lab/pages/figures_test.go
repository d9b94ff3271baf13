package pages_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", false, "compare the tables of slow commands too, which takes many minutes")

// build builds a program of this repository for the machine, even if the tests are built for another.
func build(t *testing.T, folder string) string {
	t.Helper()
	host, err := exec.Command("go", "env", "GOHOSTOS", "GOHOSTARCH").Output()
	if err != nil {
		t.Skip(err)
	}
	system, architecture, _ := strings.Cut(strings.TrimSpace(string(host)), "\n")
	program := filepath.Join(t.TempDir(), "program.exe") // as Windows wants it
	command := exec.Command("go", "build", "-C", filepath.Join("..", folder), "-o", program, ".")
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+architecture)
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	output, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

var (
	simulated = regexp.MustCompile("(Slow: )?`herd (-[^`]+)`\\n\\n((?:\\|.*\\|\\n)+)")
	gap       = regexp.MustCompile(` {2,}`)
)

// Each row of a table below a command of herd has the cells that it prints. Slow commands run only with
// -long.
func TestSimulatedFigures(t *testing.T) {
	herd := build(t, "herd")
	for page, tables := range map[string]int{"docs/evidence.md": 14} {
		found := simulated.FindAllStringSubmatch(read(t, page), -1)
		require.Len(t, found, tables, "tables below a line of %s that ends with a command of herd", page)
		for _, table := range found {
			slow, command := table[1] != "", table[2]
			rows := strings.Split(strings.TrimSpace(table[3]), "\n")
			t.Run(command, func(t *testing.T) {
				t.Parallel()
				if slow && !*long {
					t.Skip("slow")
				}
				requireFigures(t, herd, command, rows)
			})
		}
	}
}

// requireFigures compares a table with what its command prints.
func requireFigures(t *testing.T, herd, command string, rows []string) {
	t.Helper()
	printed := printedRows(t, herd, command)
	head := cells(rows[0])
	if !slices.ContainsFunc(printed, func(line []string) bool { return heads(line, head[1:]) }) {
		t.Errorf("the page has the head %q, herd %s has not", head, command)
	}
	for _, row := range rows[2:] {
		requireRow(t, printed, cells(row), command)
	}
}

// heads reports whether a line that is printed is the head of a table, or the second line of one.
func heads(line, said []string) bool {
	return slices.EqualFunc(line, said, func(a, b string) bool { return strings.HasSuffix(b, a) })
}

// printedRows returns the cells of all lines that a command prints.
func printedRows(t *testing.T, herd, command string) [][]string {
	t.Helper()
	var printed [][]string
	for line := range strings.Lines(run(t, herd, strings.Fields(command)...)) {
		printed = append(printed, gap.Split(strings.TrimSpace(line), -1))
	}
	return printed
}

// requireRow reports a row that is not among those that a command prints.
func requireRow(t *testing.T, printed [][]string, said []string, command string) {
	t.Helper()
	same := func(line []string) bool { return slices.Equal(line, said) }
	if slices.ContainsFunc(printed, same) {
		return
	}
	var similar []string
	for _, line := range printed {
		if line[0] == said[0] {
			similar = append(similar, strings.Join(line, " | "))
		}
	}
	t.Errorf("the page says %q, herd %s prints\n%s", said, command, strings.Join(similar, "\n"))
}

// cells returns the cells of a row of a table, without emphasis.
func cells(row string) []string {
	all := strings.Split(strings.Trim(strings.ReplaceAll(row, "*", ""), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// readmeRows are the rows of the README's table of losses, by the names that herd has for them.
var readmeRows = map[string]string{
	"no retries":            "no retries",
	"3 retries":             "three retries",
	"3 retries, budget":     "three retries and a budget",
	"Retrier, half":         "a Retrier with slots, with or without a budget",
	"Retrier, half, budget": "a Retrier with slots, with or without a budget",
}

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// The README's table of losses has the figures of the evidence in whole per cent, and its picture is of the same trouble.
func TestReadmeFigures(t *testing.T) {
	const column = 2
	_, table, _ := strings.Cut(read(t, "docs/evidence.md"), "\n| | 10s, 0.6 | 10s, 0.8 |")
	readme := read(t, "README.md")
	for name, said := range readmeRows {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(name) + ` \|.*$`).FindString(table)
		require.NotEmpty(t, row, name)
		whole := number.ReplaceAllStringFunc(cells(row)[column], func(s string) string {
			v, err := strconv.ParseFloat(s, 64)
			require.NoError(t, err)
			return strconv.FormatFloat(v, 'f', 0, 64)
		})
		want := "| " + said + " | " + whole + " |\n"
		require.True(t, strings.Contains(readme, want), "the README should have the row %s", want)
	}
	picture := read(t, "docs/load.svg")
	require.True(t, strings.Contains(picture, "Requests at 80 % load: down for 10 s"))
}
