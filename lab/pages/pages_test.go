// Package pages_test holds the pages of this repository to what they say. It is not among the library's
// tests because those also pass without this repository, from the module's zip.
package pages_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository.
var root = os.DirFS("../..")

// files returns the texts of all files whose names end in suffix, by path, but not those in folders
// whose names start with a dot.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(path) > 1 && path[0] == '.':
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, suffix):
			all[path] = read(t, path)
		}
		return nil
	}))
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := fs.ReadFile(root, path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// indentation is what a block loses on a page.
var indentation = regexp.MustCompile(`(?m)^\t+`)

// Each Go block on a page stands word for word in a file that is compiled: an example, a test, or a
// program.
func TestPageBlocks(t *testing.T) {
	var compiled strings.Builder
	for _, source := range files(t, ".go") {
		compiled.WriteString(indentation.ReplaceAllString(source, ""))
	}
	for page, text := range files(t, ".md") {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(compiled.String(), "\n"+indentation.ReplaceAllString(block[1], "")) {
				first, _, _ := strings.Cut(block[1], "\n")
				t.Errorf("%s: no file that is compiled has the block that starts with %q", page, first)
			}
		}
	}
}

var pageLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// Each relative link leads to a file, and each anchor to a heading.
func TestPageLinks(t *testing.T) {
	pages := files(t, ".md")
	headings := regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchors := map[string]bool{}
	for page, text := range pages {
		for _, heading := range headings.FindAllStringSubmatch(goBlock.ReplaceAllString(text, ""), -1) {
			anchors[page+"#"+strings.ToLower(strings.ReplaceAll(heading[1], " ", "-"))] = true
		}
	}
	plain := regexp.MustCompile(`^[\w-]+$`)
	for page, text := range pages {
		for _, link := range pageLink.FindAllStringSubmatch(goBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(link[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s links to %s, which is no file", page, link[1])
			} else if hasAnchor && !anchors[target+"#"+anchor] {
				t.Errorf("%s links to %s, which is no heading", page, link[1])
			} else if hasAnchor && !plain.MatchString(anchor) {
				t.Errorf("%s links to %s: sites make different anchors of such characters", page, link[1])
			}
		}
	}
}

// Each test that a page names exists.
func TestPageNames(t *testing.T) {
	functions := map[string]bool{}
	for _, source := range files(t, "_test.go") {
		for _, function := range regexp.MustCompile(`(?m)^func (\w+)\(`).FindAllStringSubmatch(source, -1) {
			functions[function[1]] = true
		}
	}
	for page, text := range files(t, ".md") {
		for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark|Example)[A-Z]\w+`).FindAllString(text, -1) {
			if !functions[name] {
				t.Errorf("%s names %s, which no file has", page, name)
			}
		}
	}
}
