package backoff

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is Go code without indentation and without the package's name, so that code in the README
// can be found in tests of the package itself.
func plain(code string) string {
	code = strings.ReplaceAll(code, "backoff.", "")
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Every Go block of the README stands in an example or a test, which the compiler and the test run
// have seen.
func TestReadmeBlocksAreExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 3)

	var sources []string
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "examples") && strings.HasSuffix(path, ".go") {
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			sources = append(sources, plain(string(source)))
		}
		return err
	}))
next:
	for _, block := range blocks {
		for _, source := range sources {
			if strings.Contains(source, plain(block[1])) {
				continue next
			}
		}
		require.Fail(t, "in no example", "%s", block[1])
	}

	program, err := os.ReadFile("examples/quickstart/main.go")
	require.NoError(t, err)
	require.Equal(t, string(program), blocks[0][1], "the first block is a whole program")
}

// Every test that the README names exists, and so does every file that it links to.
func TestReadmeNamesExist(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(source)
	}
	for _, name := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)\\w+)`").FindAllStringSubmatch(string(readme), -1) {
		require.Contains(t, tests.String(), "func "+name[1]+"(", "the README names it")
	}
	for _, link := range regexp.MustCompile(`\]\(([\w./-]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		_, err := os.Stat(link[1])
		require.NoError(t, err)
	}
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 200)
}
