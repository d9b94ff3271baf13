// Package pages_test holds the pages of this repository to what they say. It is not among the library's
// tests because those also pass without this repository, from the module's zip.
package pages_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
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

// A block is Go code on a page that stands in no file that is compiled.
type block struct {
	page, code string
	line       int    // where the code starts
	rule       string // of the analyzer, if the page says that it reports this code
}

// blocks returns all such code.
func blocks(t *testing.T) []block {
	var compiled strings.Builder
	for _, source := range files(t, ".go") {
		compiled.WriteString(indentation.ReplaceAllString(source, ""))
	}

	named := regexp.MustCompile("\\(rule `(\\w+)`\\)")
	var all []block
	for page, text := range files(t, ".md") {
		if strings.HasPrefix(page, "vet/") {
			continue // fragments, of what vet/testdata has whole
		}
		for _, at := range goBlock.FindAllStringSubmatchIndex(text, -1) {
			before, code, after := strings.TrimSpace(text[:at[0]]), text[at[2]:at[3]], text[at[1]:]
			if strings.Contains(compiled.String(), "\n"+indentation.ReplaceAllString(code, "")) {
				continue
			}

			b := block{page: page, code: code, line: strings.Count(text[:at[2]], "\n") + 1}
			title := before[strings.LastIndex(before, "\n")+1:]
			why, _, _ := strings.Cut(after, "✅")
			rule := named.FindStringSubmatch(why)
			if strings.HasPrefix(title, "❌") && rule != nil {
				b.rule = rule[1]
			}
			all = append(all, b)
		}
	}
	return all
}

var (
	declaration = regexp.MustCompile(`(?m)^(?:func|type|var) (\w+)`)
	assignment  = regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) :=`)
)

// complete returns a file with the block. If that has no imports of its own, the file has them, and those
// of the stubs that the block does not declare itself.
func (b block) complete(stubs string) string {
	line := fmt.Sprintf("//line %s:%d\n", path.Base(b.page), b.line)
	if strings.HasPrefix(b.code, "import ") {
		return "package page\n" + line + b.code
	}

	declared := map[string]bool{}
	for _, name := range declaration.FindAllStringSubmatch(b.code, -1) {
		declared[name[1]] = true
	}
	file := ""
	for _, stub := range strings.Split(stubs, "\n\n") {
		name := declaration.FindStringSubmatch(stub)
		if name == nil || !declared[name[1]] {
			file += stub + "\n\n"
		}
	}

	_, err := parser.ParseFile(token.NewFileSet(), "", "package page\n"+b.code, 0)
	if err == nil {
		return file + line + b.code
	}

	// These are statements, which need a function around them. Nothing uses the variables at their end.
	uses := ""
	for _, names := range assignment.FindAllStringSubmatch(b.code, -1) {
		uses += "_ = []any{" + names[1] + "}\n"
	}
	return file + "func _() {\n" + line + b.code + uses + "}\n"
}

// Each Go block on a page stands word for word in a file that is compiled (an example, a test, a program),
// or it compiles together with testdata/stubs.go. The analyzer reports the mistakes of which the page says
// so, and nothing else.
func TestPageBlocks(t *testing.T) {
	stubs := read(t, "lab/pages/testdata/stubs.go")
	scratch := t.TempDir()
	here, err := filepath.Abs("..")
	require.NoError(t, err)
	write := func(name, text string) {
		name = filepath.Join(scratch, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	write("go.mod", strings.ReplaceAll(read(t, "lab/go.mod"), "=> .", "=> "+here+"/."))
	write("go.sum", read(t, "lab/go.sum"))
	all := blocks(t)
	for i, b := range all {
		write(fmt.Sprintf("block%d/page.go", i), b.complete(stubs))
	}

	vet := exec.Command("go", "vet", "-vettool="+build(t, "../vet/backoffvet"), "./...")
	vet.Dir = scratch
	vet.Env = append(os.Environ(), "GOWORK=off")
	output, _ := vet.CombinedOutput() // it fails if it reports anything, as it should
	for i, b := range all {
		reports := regexp.MustCompile(fmt.Sprintf(`(?m)^.*\bblock%d\b.*:\d+: .*$`, i)).FindAllString(string(output), -1)
		switch {
		case b.rule == "" && len(reports) > 0:
			t.Errorf("%s: %s", b.page, strings.Join(reports, "\n"))
		case b.rule != "" && (len(reports) != 1 || !strings.HasSuffix(reports[0], "["+b.rule+"]")):
			t.Errorf("%s, line %d: the rule %s should report this block once, but there is %q", b.page, b.line, b.rule, reports)
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
