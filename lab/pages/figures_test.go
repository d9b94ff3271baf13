package pages_test

import (
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", false, "compare the figures of slow commands too, which takes some minutes")

// The tables of figures, and the commands that print them. A table is slow if a comment above it says so: it is
// compared only with -long.
var (
	// In docs/extending.md, the table is what the command above it prints.
	printed = regexp.MustCompile("`herd (-.+)`\\n\\n((?:.*\\|.*\\n)+)")

	// In docs/evidence.md, the columns that the commands below a table print are its rows.
	turned = regexp.MustCompile("(<!-- slow -->\\n\\n)?((?:.*\\|.*\\n)+)\\n```sh\\n((?:herd -.*\\n)+)```")

	// There, the table of the contest has the names of its rows' scenes in a comment.
	contested = regexp.MustCompile(`<!-- contest: (.+) -->\n\n((?:.*\|.*\n)+)`)

	// The README has a table whose cells may have words.
	callers = regexp.MustCompile(`\| Callers make .*\n\|.*\n(?:\|.*\n)+`)

	gap = regexp.MustCompile(` {2,}`)
)

// Each row of a table of docs/extending.md has the cells that the command prints.
func TestTables(t *testing.T) {
	herd := build(t, "herd")
	found := printed.FindAllStringSubmatch(read(t, "docs/extending.md"), -1)
	require.Len(t, found, 1)
	for _, one := range found {
		requirePrinted(t, split(one[2]), herd, one[1])
	}
}

// evidence returns docs/evidence.md, with each command on a line.
func evidence(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(read(t, "docs/evidence.md"), " \\\n\t", " ")
}

// seeds are what docs/evidence.md says of all its commands.
const seeds = "-seeds 3 "

// Each row of a table of docs/evidence.md has the cells of a column that the commands below it print, in their order.
func TestEvidence(t *testing.T) {
	herd := build(t, "herd")
	found := turned.FindAllStringSubmatch(evidence(t), -1)
	require.Len(t, found, 3)
	for _, one := range found {
		rows := split(one[2])
		t.Run(rows[1][0], func(t *testing.T) {
			t.Parallel()
			if one[1] != "" && !*long {
				t.Skip("slow")
			}
			requireTurned(t, rows, herd, one[3])
		})
	}
}

func requireTurned(t *testing.T, rows [][]string, herd, commands string) {
	t.Helper()
	ways, rows := rows[0], rows[1:]
	for command := range strings.Lines(commands) {
		lines := output(t, herd, strings.Replace(command, "herd", seeds, 1))
		head := slices.IndexFunc(lines, func(line []string) bool { return line[0] == ways[0] }) - 1
		require.Positive(t, head, command)
		for column, trouble := range lines[head] {
			require.NotEmpty(t, rows, "a row for %s of %s", trouble, command)
			for i, way := range ways {
				want := slices.IndexFunc(lines, func(line []string) bool { return line[0] == way })
				require.Positive(t, want, "no %q in what %s prints", way, command)
				if rows[0][i+1] != lines[want][column+1] {
					t.Errorf("the page says %s in %q for %q, %s prints %q", rows[0][i+1], rows[0][0], way, command, lines[want])
				}
			}
			rows = rows[1:]
		}
	}
	require.Empty(t, rows, "rows without a command")
}

// These commands print the figures beside other libraries: those of the table, and those of all scenes.
const (
	contest   = "-settings best -ways short -scenes short"
	allScenes = "-ways none,slots,slots-budget,gradient2,failsafe-breaker"
)

// inAllScenes are the figures of the second command that docs/evidence.md has in sentences.
var inAllScenes = []struct{ entry, scene, figure string }{
	{"none", "mean", "41.3"},
	{"slots", "mean", "20.5"},
	{"slots-budget", "mean", "22.7"},
	{"gradient2: quick, outside", "mean", "24.1"},
	{"gradient2: default", "mean", "57.8"},
	{"failsafe-breaker: 5 s", "mean", "28.8"},
	{"failsafe-breaker: example", "mean", "64.4"},
	{"slots", "low40", "34.5"},
	{"failsafe-breaker: 5 s", "low40", "22.6"},
}

// entries are the names of the contest for those of docs/evidence.md.
var entries = map[string]string{
	"no retries":  "none",
	"slots":       "slots",
	"gobreaker":   "v7-breaker: 1 s, final",
	"failsafe-go": "failsafe-breaker: 5 s",
	"gradient2":   "gradient2: quick, outside",
	"AWS":         "aws-adaptive: late",
}

// The table of the contest is what the command prints, to the nearest second. A figure may differ by 5 %: calls that
// wait for one of the other libraries go on in no fixed order.
func TestContest(t *testing.T) {
	page := evidence(t)
	table := contested.FindStringSubmatch(page)
	require.NotNil(t, table)
	require.Contains(t, page, "\ngo run -C lab ./contest "+contest+"\n")
	require.Contains(t, page, "\ngo run -C lab ./contest "+allScenes+"\n")
	for _, one := range inAllScenes {
		require.Contains(t, page, one.figure+" s")
	}
	if !*long {
		t.Skip("slow")
	}

	program := build(t, "contest")
	lost := seconds(t, program, contest)
	scenes, rows := strings.Fields(table[1]), split(table[2])
	require.Len(t, rows, 1+len(scenes))
	for i, scene := range scenes {
		for k, way := range rows[0] {
			requireNear(t, lost(entries[way], scene), rows[i+1][k+1], way+" in "+scene)
		}
		budgetCosts := number(t, lost("slots-budget", scene)) - number(t, lost("slots", scene))
		require.LessOrEqual(t, budgetCosts, 5.0, scene)
	}
	for _, entry := range entries {
		require.Equal(t, "0.0", lost(entry, "healthy.8"), entry)
	}

	lost = seconds(t, program, allScenes)
	for _, one := range inAllScenes {
		requireNear(t, lost(one.entry, one.scene), one.figure, one.entry+" in "+one.scene)
	}
}

// seconds returns what is in a cell of the table of the contest in seconds, by its entry and its scene.
func seconds(t *testing.T, program, command string) func(entry, scene string) string {
	t.Helper()
	const title = "Lost, seconds of traffic"
	var scenes []string
	rows := map[string][]string{}
	for _, line := range output(t, program, command) {
		if line[0] == title {
			clear(rows)
			scenes = line
		}
		rows[line[0]] = line
	}
	require.NotEmpty(t, scenes, "no table of %q", title)

	return func(entry, scene string) string {
		t.Helper()
		column := slices.Index(scenes, scene)
		require.Positive(t, column, scene)
		require.Len(t, rows[entry], len(scenes), entry)
		return rows[entry][column]
	}
}

func number(t *testing.T, figure string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(figure, 64)
	require.NoError(t, err)
	return n
}

func requireNear(t *testing.T, printed, said, what string) {
	t.Helper()
	want := number(t, printed)
	require.InDelta(t, want, number(t, said), max(0.5, 0.05*want), what)
}

// In the table of the README, a cell has the figure of a way, or words.
func TestREADME(t *testing.T) {
	herd := build(t, "herd")
	ways := map[string]string{
		"no retries":                 "no retries",
		"three retries, with Budget": "3 retries, budget",
		"three retries, with Slots":  "slots",
		"three retries, with both":   "slots, budget",
	}
	page := read(t, "README.md")
	var rows [][]string
	for _, row := range split(callers.FindString(page))[1:] {
		name := strings.NewReplacer("`", "", " a ", " ").Replace(row[0])
		if way := ways[name]; way != "" {
			rows = append(rows, []string{way, row[1]})
		}
	}
	require.Len(t, rows, len(ways))
	requirePrinted(t, rows, herd, seeds+"-trouble 10s@0.8")
	requireSaid(t, page, herd, seeds+"-from 1ms -in percent -trouble fail:30%@0.6", `
		no retries | 30–31 %
		3 retries | 0.7–0.9 %
		slots | 0.7–0.9 %`)
}

// other is a cell that is not on the page.
const other = "…"

// inSentences are the figures that docs/evidence.md has in sentences: in some rows of what a command prints, the cells
// that are on the page.
var inSentences = map[string]string{
	"-rate 400 -servers 12 -load 0.05 -answer 30ms -timeout 2s -deadline 10s -after 1m -trouble part:40%:1m": `
		no retries | … | 0.0 % | …
		slots | … | 1.3–2.6 % | …
		slots, budget | … | 0.0 % | …`,
	"-timeout 250ms -deadline 1250ms -rate 2000 -servers 20 -load 0.03 -answer 10ms -long 10%:10s -trouble part:10%:1m": `
		no retries | … | 0.0 % | …
		slots | … | 39–42 % | …`,
	"-shape batch -size 2000 -trouble none,60s": `
		no retries | 97–98 % | …
		slots | 97–98 % | …
		slots of half the capacity | 0 | …
		slots of half the capacity, 20 retries | 0 | 0`,
	"-shape tool -trouble 10s@0.1,60s@0.2": `
		no retries | 10–12 s | 71–75 s
		2 retries from 5 s | 0.0–0.2 s | 120–130 s`,
	"-shape devices -size 2000 -rate 80 -servers 8 -load 0.5 -after 10m -trouble 10s": `
		default waits | 990.7–999.0 s | 100 %
		first wait 2 N / spare, delayed | 78.5–83.2 s | 3.6–4.6 %`,
}

// docs/evidence.md says these figures and the commands, and with -long, the commands print them.
func TestSentences(t *testing.T) {
	page := evidence(t)
	herd := build(t, "herd")
	for command, table := range inSentences {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, page, "\nherd "+command+"\n")
			requireSaid(t, page, herd, seeds+command, table)
		})
	}
}

// requireSaid reports figures of rows that are not on a page and, with -long, those that a command of herd does not
// print.
func requireSaid(t *testing.T, page, herd, command, table string) {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		name, figures, _ := strings.Cut(strings.TrimSpace(line), " | ")
		for figure := range strings.SplitSeq(figures, " | ") {
			if figure != other && !strings.Contains(page, figure) {
				t.Errorf("the page does not say %q, the figure of %q", figure, name)
			}
		}
		rows = append(rows, cells(line))
	}
	if *long {
		requirePrinted(t, rows, herd, command)
	}
}

// requirePrinted reports rows that are not among the lines that a command of herd prints. Other cells match all.
func requirePrinted(t *testing.T, rows [][]string, herd, command string) {
	t.Helper()
	lines := output(t, herd, command)
	same := func(cell, printed string) bool { return cell == other || cell == printed }
	for _, row := range rows {
		if !slices.ContainsFunc(lines, func(line []string) bool { return slices.EqualFunc(row, line, same) }) {
			t.Errorf("the page says %q, %s prints\n%s", row, command, fmt.Sprint(lines))
		}
	}
}

// output returns the cells of the lines that a command prints.
func output(t *testing.T, program, command string) (lines [][]string) {
	t.Helper()
	out, err := exec.Command(program, strings.Fields(command)...).CombinedOutput()
	require.NoError(t, err, string(out))
	for line := range strings.Lines(string(out)) {
		row := gap.Split(strings.TrimSpace(line), -1)
		for i, cell := range row[1:] {
			row[i+1] = bare(cell)
		}
		lines = append(lines, row)
	}
	return lines
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

// cells returns the cells of a row of a table, without emphasis.
func cells(row string) []string {
	all := strings.Split(strings.Trim(strings.TrimSpace(strings.ReplaceAll(row, "*", "")), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
		if i > 0 {
			all[i] = bare(all[i])
		}
	}
	return all
}

// bare returns a figure without its unit. If nothing is lost, how long the slowest call took is no part of it.
func bare(figure string) string {
	lost, _, isNone := strings.Cut(figure, " (")
	if isNone && lost == "0" {
		return lost
	}
	return strings.TrimSuffix(strings.TrimSuffix(figure, " %"), " s")
}
