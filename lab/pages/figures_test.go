package pages_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", false, "compare the columns of ten minutes too, which takes many minutes")

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
	simulated = regexp.MustCompile("`herd (-scenario [^`]+)`\\n\\n((?:\\|.*\\|\\n)+)")
	gap       = regexp.MustCompile(` {2,}`)
)

// Each row of a table below a command of herd has the cells that it prints.
func TestSimulatedFigures(t *testing.T) {
	herd := build(t, "herd")
	for page, tables := range map[string]int{} {
		found := simulated.FindAllStringSubmatch(read(t, page), -1)
		require.Len(t, found, tables, "tables below a line of %s that ends with a command of herd", page)
		for _, table := range found {
			command, rows := table[1], strings.Split(strings.TrimSpace(table[2]), "\n")
			t.Run(command, func(t *testing.T) {
				t.Parallel()
				requireFigures(t, herd, command, rows)
			})
		}
	}
}

func requireFigures(t *testing.T, herd, command string, rows []string) {
	args, skipped := strings.Fields(command), -1
	if i := slices.Index(args, "-long"); i > 0 && !*long {
		args = slices.Delete(args, i, i+1)
		skipped = slices.Index(cells(rows[0]), "600 s")
	}
	var printed [][]string
	for line := range strings.Lines(run(t, herd, args...)) {
		printed = append(printed, gap.Split(strings.TrimSpace(line), -1))
	}
	for _, row := range rows[2:] {
		said := cells(row)
		if skipped > 0 {
			said = slices.Delete(said, skipped, skipped+1)
		}
		i := slices.IndexFunc(printed, func(line []string) bool { return line[0] == said[0] && len(line) == len(said) })
		if i < 0 {
			t.Errorf("%q: not in what herd %s prints", said[0], command)
		} else if !slices.Equal(said, printed[i]) {
			t.Errorf("the page says %q, herd prints %q", said, printed[i])
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
