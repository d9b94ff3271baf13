package pages_test

import (
	"fmt"
	"go/format"
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
	_ "golang.org/x/time/rate" // which the pages' code uses
)

// A block is Go code on a page.
type block struct {
	page string
	line int // where the code starts
	code string
	rule string // of the analyzer, if the page says above the code that it reports this
}

var (
	goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	ruled   = regexp.MustCompile("^❌ \\(rule `(\\w+)`\\)$")
)

// blocks returns the Go code of a page.
func blocks(t *testing.T, page string) []block {
	text := read(t, page)
	var all []block
	for _, at := range goBlock.FindAllStringSubmatchIndex(text, -1) {
		b := block{page: page, line: strings.Count(text[:at[2]], "\n") + 1, code: text[at[2]:at[3]]}
		before := strings.TrimSpace(text[:at[0]])
		title := before[strings.LastIndex(before, "\n")+1:]
		if rule := ruled.FindStringSubmatch(title); rule != nil {
			b.rule = rule[1]
		}
		all = append(all, b)
	}
	return all
}

// file returns the code as the part of a Go file. Statements get a function around them.
func (b block) file() string {
	line := fmt.Sprintf("//line %s:%d\n", path.Base(b.page), b.line)
	_, err := parser.ParseFile(token.NewFileSet(), "", "package page\n"+b.code, 0)
	if err == nil {
		return line + b.code + "\n"
	}
	return "func _() error {\n" + line + b.code + "return nil\n}\n"
}

var declaration = regexp.MustCompile(`(?m)^(?:func|type|var|const) (\w+)[ (=]`)

// complete returns a file of blocks, with those of the stubs that they do not declare themselves.
func complete(stubs string, all ...block) string {
	var code strings.Builder
	for _, b := range all {
		code.WriteString(b.file())
	}
	declared := map[string]bool{}
	for _, name := range declaration.FindAllStringSubmatch(code.String(), -1) {
		declared[name[1]] = name[1] != "_"
	}

	var file strings.Builder
	for stub := range strings.SplitSeq(stubs, "\n\n") {
		name := declaration.FindStringSubmatch(stub)
		if name == nil || !declared[name[1]] {
			file.WriteString(stub + "\n\n")
		}
	}
	return file.String() + code.String()
}

// A program is a folder of the module that TestCode makes of the pages.
type program struct {
	page, folder, source string
	rule                 string
}

// programs returns what a page's blocks are when they are put together. A block with a package clause is a program
// of its own, and so is each block of the page about mistakes. The others make one package, those of choosing and of the
// recipes together, since they call each other.
func programs(t *testing.T, page, stubs string) []program {
	base := strings.TrimSuffix(path.Base(page), ".md")
	var own []program
	var together []block
	switch base {
	case "choosing":
		return nil
	case "recipes":
		together = blocks(t, "docs/choosing.md")
	}
	for i, b := range blocks(t, page) {
		folder := fmt.Sprintf("%s%d", base, i)
		switch {
		case strings.HasPrefix(b.code, "package "):
			own = append(own, program{page, folder, b.code, ""})
		case base == "mistakes":
			own = append(own, program{page, folder, complete(stubs, b), b.rule})
		default:
			together = append(together, b)
		}
	}
	if together != nil {
		own = append(own, program{page, base, complete(stubs, together...), ""})
	}
	return own
}

// pages returns the pages that show code of programs.
func pages(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(root, "docs/*.md")
	require.NoError(t, err)
	return append(names, "README.md")
}

// The code of the pages is formatted.
func TestFormat(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			formatted, err := format.Source([]byte(b.code))
			require.NoError(t, err)
			require.Equal(t, string(formatted), b.code, "%s:%d", page, b.line)
		}
	}
}

// The code of the pages compiles, with testdata/stubs.go where it names what a page does not show; programs run; and
// the tests in testdata, one file for a page, pass together with the page's code. The analyzer reports the mistakes of
// which the page says so, and nothing else.
func TestCode(t *testing.T) {
	module := newModule(t)
	stubs := read(t, "lab/pages/testdata/stubs.go")
	var all []program
	for _, page := range pages(t) {
		all = append(all, programs(t, page, stubs)...)
	}
	for _, p := range all {
		name := "page.go"
		if strings.Contains(p.source, "*testing.T)") {
			name = "page_test.go"
		}
		module.write(p.folder+"/"+name, p.source)

		tests, err := os.ReadFile("testdata/" + p.folder + "_test.go")
		if err == nil {
			module.write(p.folder+"/extra_test.go", string(tests))
			module.write(p.folder+"/page.md", read(t, p.page))
		}
	}

	module.run("go", "test", "-vet=off", "./...")
	for _, p := range all {
		if strings.Contains(p.source, "\nfunc main()") {
			module.run("go", "run", "./"+p.folder)
		}
	}

	output := module.vet("-vettool="+build(t, "../vet/backoffvet"), "./...")
	for _, p := range all {
		reports := regexp.MustCompile(`(?m)^.*\b`+p.folder+`/.*:\d+: .*$`).FindAllString(output, -1)
		switch {
		case p.rule == "" && len(reports) > 0:
			t.Error(strings.Join(reports, "\n"))
		case p.rule != "" && (len(reports) != 1 || !strings.HasSuffix(reports[0], "["+p.rule+"]")):
			t.Errorf("%s, block %s: the rule %s should report this once, but there is %q", p.page, p.folder, p.rule, reports)
		}
	}
}

// A module is a folder outside of the repository, with the requirements of the laboratory.
type module struct {
	t      *testing.T
	folder string
}

func newModule(t *testing.T) module {
	t.Helper()
	m := module{t, t.TempDir()}
	here, err := filepath.Abs("..")
	require.NoError(t, err)
	m.write("go.mod", strings.ReplaceAll(read(t, "lab/go.mod"), "=> .", "=> "+here+"/."))
	m.write("go.sum", read(t, "lab/go.sum"))
	return m
}

func (m module) write(name, text string) {
	m.t.Helper()
	name = filepath.Join(m.folder, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(m.t, os.WriteFile(name, []byte(text), 0o666))
}

// run runs a command that must succeed.
func (m module) run(name string, args ...string) {
	m.t.Helper()
	output, err := m.command(name, args...).CombinedOutput()
	require.NoError(m.t, err, string(output))
}

// vet runs go vet, which fails if it reports anything, as it should here.
func (m module) vet(args ...string) string {
	m.t.Helper()
	output, _ := m.command("go", append([]string{"vet"}, args...)...).CombinedOutput()
	return string(output)
}

func (m module) command(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Dir = m.folder
	command.Env = append(os.Environ(), "GOWORK=off")
	return command
}

// build builds a program of this repository.
func build(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program.exe") // as Windows wants it
	output, err := exec.Command("go", "build", "-C", filepath.Join("..", folder), "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}
