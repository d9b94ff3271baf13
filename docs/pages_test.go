package backoff_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// markdown returns the text of each Markdown page by its path.
func markdown(t *testing.T) map[string]string {
	all := map[string]string{}
	walkFiles(t, func(path string) {
		if filepath.Ext(path) == ".md" {
			all[filepath.ToSlash(path)] = readText(t, path)
		}
	})
	require.Contains(t, all, "README.md")
	return all
}

// walkFiles calls visit for each file, but not in folders whose names start with a dot.
func walkFiles(t *testing.T, visit func(path string)) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && len(path) > 1 && path[0] == '.' {
			return fs.SkipDir
		}
		if !d.IsDir() {
			visit(path)
		}
		return nil
	}))
}

func readText(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// sources returns the texts of all files whose names end in suffix.
func sources(t *testing.T, suffix string) string {
	var all strings.Builder
	walkFiles(t, func(path string) {
		if strings.HasSuffix(path, suffix) {
			all.WriteString(readText(t, path))
		}
	})
	return all.String()
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// indentation is what a block loses on a page.
var indentation = regexp.MustCompile(`(?m)^\t+`)

// Each Go block on a page stands word for word in a file that is compiled: an example, a test, or a
// program.
func TestPageBlocks(t *testing.T) {
	compiled := indentation.ReplaceAllString(sources(t, ".go"), "")
	for path, text := range markdown(t) {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			plain := "\n" + indentation.ReplaceAllString(block[1], "")
			require.True(t, strings.Contains(compiled, plain), "%s: %s", path, block[1])
		}
	}
}

// The README is for the first ten minutes.
func TestReadmeLength(t *testing.T) {
	readme := readText(t, "README.md")
	require.LessOrEqual(t, strings.Count(readme, "\n"), 120)
	require.LessOrEqual(t, len(strings.Fields(readme)), 1000)
}

// The README shows what quickstart prints, except that the waits are random.
func TestReadmeOutput(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	output, err := exec.Command("go", "run", "./examples/quickstart").CombinedOutput()
	require.NoError(t, err, string(output))
	waits := regexp.MustCompile(`next attempt in \S+`)
	lines := "    " + strings.ReplaceAll(strings.TrimSpace(string(output)), "\n", "\n    ") + "\n"
	require.Contains(t, waits.ReplaceAllString(readText(t, "README.md"), ""), waits.ReplaceAllString(lines, ""))
}

// The README shows the first waits of each policy.
func TestReadmeWaits(t *testing.T) {
	readme := regexp.MustCompile(` +`).ReplaceAllString(readText(t, "README.md"), " ")
	defaults := backoff.NewExponentialBackOff()
	require.Contains(t, readme, fmt.Sprintf("→ … → %.0fs, each ± %.0f %%, for %.0f minutes\n",
		defaults.MaxInterval.Seconds(), 100*defaults.RandomizationFactor, defaults.MaxElapsedTime.Minutes()))
	for call, policy := range map[string]backoff.BackOff{
		"NewExponentialBackOff()": backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter)),
		"NewLinearBackOff(1s)":    backoff.NewLinearBackOff(time.Second),
		"NewConstantBackOff(1s)":  backoff.NewConstantBackOff(time.Second),
		"&ZeroBackOff{}":          &backoff.ZeroBackOff{},
	} {
		line := call
		for range 4 {
			line += fmt.Sprintf(" %.2gs →", policy.NextBackOff().Seconds())
		}
		require.Contains(t, readme, line)
	}
}

var pageLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// Each relative link leads to a file, and each anchor to a heading.
func TestPageLinks(t *testing.T) {
	all := markdown(t)
	headings := regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchors := map[string]bool{}
	for path, text := range all {
		for _, heading := range headings.FindAllStringSubmatch(goBlock.ReplaceAllString(text, ""), -1) {
			anchor := strings.ToLower(strings.ReplaceAll(heading[1], " ", "-"))
			anchors[path+"#"+anchor] = true
		}
	}
	for path, text := range all {
		for _, link := range pageLink.FindAllStringSubmatch(goBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(link[1], "#")
			target := path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
				_, err := os.Stat(target)
				require.NoError(t, err, "%s links to it", path)
			}
			if hasAnchor {
				require.Regexp(t, `^[\w-]+$`, anchor, "other characters differ between sites")
				require.True(t, anchors[target+"#"+anchor], "%s links to %s", path, link[1])
			}
		}
	}
}

// Each test that a page names exists.
func TestPageNames(t *testing.T) {
	tests := sources(t, "_test.go")
	for path, text := range markdown(t) {
		for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark|Example)[A-Z]\w+`).FindAllString(text, -1) {
			require.True(t, strings.Contains(tests, "func "+name+"("), "%s names %s", path, name)
		}
	}
}

// No run of more than ten words stands in two places.
func TestPageDuplicates(t *testing.T) {
	const most = 10
	word := regexp.MustCompile(`[\pL\d_]+`)
	seen := map[string]string{}
	for path, text := range markdown(t) {
		for number, paragraph := range strings.Split(goBlock.ReplaceAllString(text, ""), "\n\n") {
			place := fmt.Sprintf("%s, paragraph %d", path, number+1)
			words := word.FindAllString(strings.ToLower(pageLink.ReplaceAllString(paragraph, "]")), -1)
			for i := 0; i+most < len(words); i++ {
				run := strings.Join(words[i:i+most+1], " ")
				if other, found := seen[run]; found {
					t.Errorf("%q stands in %s and in %s", run, other, place)
					break
				}
				seen[run] = place
			}
		}
	}
}
