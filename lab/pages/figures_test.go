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

var long = flag.Bool("long", false, "compare the figures of slow commands too, which takes some minutes")

// Below a command of herd, which may be in a comment, a page has the table that the command prints.
var (
	simulated = regexp.MustCompile("(?:`|<!-- )(slow: )?herd (-[^`>]+?)(?:`| -->)\\n\\n((?:.*\\|.*\\n)+)")
	gap       = regexp.MustCompile(` {2,}`)
)

// The README has one table, without its command and with a head of its own.
var (
	readme       = "-seeds 3 -trouble 10s@0.8,fail:30% -only no,3,slots"
	readmeFigure = regexp.MustCompile(`(?m)^Lost, %.*\n---.*\n(?:.*\|.*\n)+`)
)

// Each row of a table below a command of herd has the cells that the command prints, but for the signs of per cent. Slow
// commands run only with -long.
func TestFigures(t *testing.T) {
	herd := build(t, "herd")
	for page, tables := range map[string]int{"docs/evidence.md": 5, "docs/extending.md": 1} {
		found := simulated.FindAllStringSubmatch(read(t, page), -1)
		require.Len(t, found, tables, "tables below a command of herd in %s", page)
		for _, table := range found {
			t.Run(table[2], func(t *testing.T) {
				t.Parallel()
				if table[1] != "" && !*long {
					t.Skip("slow")
				}
				requirePrinted(t, split(table[3]), herd, table[2])
			})
		}
	}
	t.Run("README", func(t *testing.T) {
		t.Parallel()
		table := readmeFigure.FindString(read(t, "README.md"))
		require.NotEmpty(t, table)
		requirePrinted(t, split(table)[1:], herd, readme)
	})
}

// other is a cell that is not on the page.
const other = "…"

// inSentences are the figures that docs/evidence.md has in sentences: in some rows of what a command prints, the cells
// that are on the page.
var inSentences = map[string]string{
	"-shape burst -rate 2000 -servers 200 -processes 1 -size 500 -from 1m -trouble none,refuse:5%": `
		no retries | 1 s | …
		slots | 1 s | 2 s`,
	"-only no,budget -seeds 3 -rate 300 -servers 1 -deadline 0 -processes 1 -trouble 10s@0.8,none": `
		no retries | 21 | …
		3 retries, budget | 24–25 | …
		3 retries, budget of 500 | 22 | …`,
	"-only no,budget -seeds 3 -rate 300 -servers 1 -deadline 0 -processes 300 -trouble 10s@0.8,none": `
		no retries | 21 | …
		3 retries, budget | 33–34 | …
		3 retries, budget of 500 | 86 | …`,
	"-only no,slots -seeds 3 -trouble refuse:30s@0.8,half:10m@0.6,half:10m@0.8,fail:50%": `
		no retries | 12–13 | 92–95 | 96 | 42–43
		slots | 12–14 | 34–36 | 87–91 | 22–23
		slots, budget | … | … | … | 33–34`,
	"-only no,slots -seeds 3 -processes 60 -trouble none,60s": `
		no retries | … | 53–54
		slots | … | 89
		slots, budget | … | 56–58`,
	"-only no,slots -seeds 3 -grow 10 -trouble none,10s": `
		no retries | … | 10–12
		slots | … | 16–23
		slots, budget | … | 12–14`,
	"-only no,slots -seeds 3 -timeout 300ms -trouble none@0.6,none@0.9": `
		no retries | 14–16 | …
		slots | 13–21 | …`,
	"-only no,slots -seeds 3 -timeout 600ms -trouble none@0.6,none@0.9": `
		no retries | … | 5.2–12
		slots | … | 1.0–6.5`,
	"-shape batch -size 2000 -trouble none,10s": `
		slots | 8.8 | …`,
	"-shape devices -size 2000 -rate 80 -servers 8 -load 0.5 -after 10m -trouble 10s": `
		default waits | 987.8 s | 100.0
		first wait 2 N / spare | 137.6 s | 13.1
		first wait 2 N / spare, delayed | 74.9 s | 3.1`,
	"-shape devices -size 2000 -rate 80 -servers 8 -load 0.5 -after 10m -trouble none -seeds 3 -only delayed": `
		first wait 2 N / spare, delayed | … | 0.0`,
	"-shape devices -size 2000 -rate 80 -servers 8 -load 0.5 -after 10m -trouble none -seeds 3 -only delayed -guess 2": `
		first wait 2 N / spare, delayed | … | 0.1–3.4`,
}

// The evidence page has these figures, and with -long, the commands print them.
func TestSentences(t *testing.T) {
	page := read(t, "docs/evidence.md")
	herd := build(t, "herd")
	for command, table := range inSentences {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var rows [][]string
			for line := range strings.Lines(strings.TrimSpace(table)) {
				rows = append(rows, cells(line))
			}
			requireSaid(t, rows, page)
			if *long {
				requirePrinted(t, rows, herd, command)
			}
		})
	}
}

// requireSaid reports figures of rows that are not on a page.
func requireSaid(t *testing.T, rows [][]string, page string) {
	t.Helper()
	for _, row := range rows {
		for _, figure := range row[1:] {
			if figure == other {
				continue
			}
			if !strings.HasSuffix(figure, " s") {
				figure += " %"
			}
			if !strings.Contains(page, figure) {
				t.Errorf("the page does not say %q, the figure of %q", figure, row[0])
			}
		}
	}
}

// split returns the cells of a table: those of its head, but for the first, which is about all others, and of its rows.
func split(table string) (rows [][]string) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	rows = append(rows, cells(lines[0])[1:])
	for _, line := range lines[2:] {
		rows = append(rows, cells(line))
	}
	return rows
}

// requirePrinted reports rows that are not among the lines that a command of herd prints. Other cells match all.
func requirePrinted(t *testing.T, rows [][]string, herd, command string) {
	t.Helper()
	output, err := exec.Command(herd, strings.Fields(command)...).CombinedOutput()
	require.NoError(t, err, string(output))

	printed := strings.ReplaceAll(string(output), " %", "")
	var lines [][]string
	for line := range strings.Lines(printed) {
		lines = append(lines, gap.Split(strings.TrimSpace(line), -1))
	}
	same := func(cell, printed string) bool { return cell == other || cell == printed }
	for _, row := range rows {
		if !slices.ContainsFunc(lines, func(line []string) bool { return slices.EqualFunc(row, line, same) }) {
			t.Errorf("the page says %q, the command prints\n%s", row, printed)
		}
	}
}

// cells returns the cells of a row of a table, without emphasis and signs of per cent.
func cells(row string) []string {
	all := strings.Split(strings.Trim(strings.ReplaceAll(row, "*", ""), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSuffix(strings.TrimSpace(all[i]), " %")
	}
	return all
}
