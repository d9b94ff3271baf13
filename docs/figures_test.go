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
	"queues |":  {"-scenario programs -rate 30 -load 0.6 -seeds 5", cells(1, 6, 7, 12, 17)},
	"refuses |": {"-scenario programs -queue none -rate 50 -load 0.8 -seeds 5", cells(6, 7, 8, 12, 17)},
	"rule |":    {"-scenario rules", cells(0, 2, 4, 7, 9)},
}

// cells returns the source of rows of which each has figures of its own.
func cells(indices ...int) func([]string) (string, []int) {
	return func(row []string) (string, []int) { return row[0], indices }
}

var (
	pageTable = regexp.MustCompile(`(?m)^\| (.*) \|\n\|[-:|]+\|\n((?:\|.*\|\n)+)`)
	gap       = regexp.MustCompile(` {2,}`)
	unit      = regexp.MustCompile(` [s%]$`)
)

// Each row of a table in choosing.md, but that of decisions, has the figures that herd prints.
func TestChoosingFigures(t *testing.T) {
	herd := build(t, "herd")
	for _, table := range pageTable.FindAllStringSubmatch(read(t, "docs/choosing.md"), -1) {
		header, rows := table[1], table[2]
		if strings.HasPrefix(header, "you have |") {
			continue
		}
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
	for row := range strings.Lines(rows) {
		var cells []string
		for cell := range strings.SplitSeq(row, "|") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, strings.ReplaceAll(cell, ",", ""))
			}
		}
		line, indices := source(cells)
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
}

// rounded returns figure, or both ends of a range, with as many decimals as like has.
func rounded(figure, like string) string {
	least, most, isRange := strings.Cut(figure, "–")
	first, last, _ := strings.Cut(like, "–")
	if !isRange {
		return round(figure, like)
	}
	if last == "" {
		last = first
	}
	if least, most = round(least, first), round(most, last); least == most {
		return least
	}
	return least + "–" + most
}

func round(figure, like string) string {
	number, err := strconv.ParseFloat(figure, 64)
	if err != nil {
		return figure
	}
	_, decimals, _ := strings.Cut(like, ".")
	return strconv.FormatFloat(number, 'f', len(decimals), 64)
}
