package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

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

// figures says what prints the tables of choosing.md, by the starts of their headers.
var figures = map[string]struct {
	herd string // its arguments

	// source returns where the last cells of a row come from: the start of the lines that herd prints
	// for it, and the index of each cell among the figures of those lines.
	source func(row []string) (line string, indices []int)
}{
	"strategy | load": {
		"-scenario outage -load 0.83",
		func(row []string) (string, []int) { return row[0], []int{0, 3, 4} },
	},
	"strategy | calls": {
		"-scenario contention -clients 100,300",
		func(row []string) (string, []int) { return row[0], []int{0, 2, 3} },
	},
	"rule | 10": {
		"-scenario rules",
		func(row []string) (string, []int) { return row[0], []int{0, 2, 4, 7, 9, 10} },
	},
}

var (
	pageTable = regexp.MustCompile(`(?m)^\| (.*) \|\n\|[-:|]+\|\n((?:\|.*\|\n)+)`)
	gap       = regexp.MustCompile(` {2,}`)
	unit      = regexp.MustCompile(` [s%]$`)
)

// Each row of a table in choosing.md has the figures that herd prints, and the table of jitters has a row
// for each.
func TestChoosingFigures(t *testing.T) {
	herd := build(t, "herd")
	for _, table := range pageTable.FindAllStringSubmatch(read(t, "docs/choosing.md"), -1) {
		header, rows := table[1], table[2]
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			for start, from := range figures {
				if strings.HasPrefix(header, start) {
					requireFigures(t, rows, from.source, from.herd, run(t, herd, strings.Fields(from.herd)...))
					return
				}
			}
			t.Error("add what prints this table of docs/choosing.md to the table figures in docs/figures_test.go")
		})
	}
}

func requireFigures(t *testing.T, rows string, source func([]string) (string, []int), herd, output string) {
	printed := map[string][]string{}
	for line := range strings.Lines(output) {
		words := gap.Split(strings.TrimSpace(line), -1)
		printed[words[0]] = append(printed[words[0]], words[1:]...)
		if len(words) > 2 {
			printed[words[0]+" "+words[1]] = words[2:]
		}
	}
	listed := map[string]bool{}
	for row := range strings.Lines(rows) {
		var cells []string
		for cell := range strings.SplitSeq(row, "|") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, strings.ReplaceAll(cell, ",", ""))
			}
		}
		line, indices := source(cells)
		listed[line] = true
		if len(indices) == 0 || len(printed[line]) <= slices.Max(indices) {
			t.Errorf("docs/choosing.md has a row for %q, of which herd %s prints nothing", line, herd)
			continue
		}
		for i, cell := range cells[len(cells)-len(indices):] {
			if figure := unit.ReplaceAllString(printed[line][indices[i]], ""); rounded(figure, cell) != cell {
				t.Errorf("docs/choosing.md says %s for %q where herd %s prints %s", cell, line, herd, figure)
			}
		}
	}
	for jitter := backoff.ProportionalJitter; !strings.HasPrefix(jitter.String(), "Jitter("); jitter++ {
		if strings.Contains(herd, "contention") && !listed[jitter.String()] && !listed[jitter.String()+" (default)"] {
			t.Errorf("add a row for %v to this table of docs/choosing.md", jitter)
		}
	}
}

// rounded returns figure with as many decimals as like has.
func rounded(figure, like string) string {
	number, err := strconv.ParseFloat(figure, 64)
	if err != nil {
		return figure
	}
	_, decimals, _ := strings.Cut(like, ".")
	return strconv.FormatFloat(number, 'f', len(decimals), 64)
}
