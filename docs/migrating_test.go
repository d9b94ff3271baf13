package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// before is a program that uses v4, and so does its dependency.
const before = `package main

import (
	"errors"
	"fmt"

	"example.org/dependency"
	"github.com/cenkalti/backoff/v4"
)

func main() {
	calls := 0
	err := dependency.Retry(func() error {
		calls++
		return backoff.Permanent(errors.New("gone"))
	})
	fmt.Println(calls, err)
}
`

const dependency = `package dependency

import "github.com/cenkalti/backoff/v4"

func Retry(f func() error) error {
	return backoff.Retry(f, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 5))
}
`

// The steps from v4 work as they stand on the page. Without the last of them, a mark that the program
// makes does not stop the dependency's loop.
func TestMigratingSteps(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "docs/migrating.md"), "## From v4\n")
	page, _, _ = strings.Cut(page, "## Projects tried")
	var steps []string
	for _, block := range regexp.MustCompile(`(?m)(?:^(?:   )?    \S.*\n)+`).FindAllString(page, -1) {
		steps = append(steps, block)
	}
	require.Len(t, steps, 6)
	raise, add, imports, tidy, replace := steps[0], steps[1], steps[2], steps[3], steps[5]

	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	for _, test := range []struct {
		goLine         string
		old            bool // the go line is to be raised
		prepare, after string
	}{
		{goLine: "1.13", old: true},
		{goLine: "1.18", old: true},
		{goLine: "1.22", old: true},
		{goLine: "1.23"},
		{goLine: "1.18", old: true, prepare: "go mod vendor", after: "go mod vendor"},
		{goLine: "1.22", old: true, prepare: "go work init .\n go work edit -go=1.22", after: "go work use"},
	} {
		folder := t.TempDir()
		write := func(name, text string) {
			t.Helper()
			name = filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
			require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
		}
		shell := func(commands ...string) string {
			t.Helper()
			command := exec.Command("bash", "-euc", strings.Join(commands, "\n"))
			command.Dir = filepath.Join(folder, "program")
			command.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=")
			output, err := command.CombinedOutput()
			require.NoError(t, err, "go %s: %s\n%s", test.goLine, command, output)
			return string(output)
		}
		require.NoError(t, os.Symlink(repository, filepath.Join(folder, "backoff")))
		const requireV4 = "\n\nrequire github.com/cenkalti/backoff/v4 v4.3.0\n"
		write("dependency/go.mod", "module example.org/dependency\n\ngo 1.18"+requireV4)
		write("dependency/dependency.go", dependency)
		write("program/go.mod", "module program\n\ngo "+test.goLine+requireV4+
			"\nrequire example.org/dependency v1.0.0\n\nreplace example.org/dependency => ../dependency\n")
		write("program/main.go", before)
		shell("go mod tidy", test.prepare)
		require.Equal(t, "1 gone\n", shell("go run ."))

		if test.old {
			shell(raise)
		}
		shell(add, imports, tidy, test.after)
		require.Equal(t, "6 gone\n", shell("go run ."), "two sets of types")
		shell(replace, test.after)
		require.Equal(t, "1 gone\n", shell("go run .", "go vet ."), "one set of types")
	}
}
