package pages_test

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

// alone is one whose dependency alone uses v4.
const alone = `package main

import (
	"errors"
	"fmt"

	"example.org/dependency"
)

func main() {
	calls := 0
	err := dependency.Retry(func() error {
		calls++
		return errors.New("gone")
	})
	fmt.Println(calls, err)
}
`

const dependency = `package dependency

import (
	"context"

	"github.com/cenkalti/backoff/v4"
)

func Retry(f func() error) error {
	return backoff.Retry(f, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 5))
}

func Canceled(err error) bool { return err == context.Canceled }
`

// The steps of the page work as written. In a program that has both names, a mark that it makes does
// not stop its dependency's loop unless cenkalti/ replaces v4.
func TestMigratingSteps(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "docs/migrating.md"), "## From v4\n")
	page, _, _ = strings.Cut(page, "## Projects tried")
	steps := regexp.MustCompile(`(?m)(?:^(?:   )?    \S.*\n)+`).FindAllString(page, -1)
	require.Len(t, steps, 6)
	add, imports, tidy, replace, look := steps[0], steps[1], steps[2], steps[4], steps[5]
	const raise = "go mod edit -go=1.23"
	for _, command := range []string{raise, "go mod tidy", "go mod vendor", "go work use"} {
		require.True(t, strings.Contains(page, "`"+command+"`"), "docs/migrating.md does not show %s", command)
	}

	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, test := range []struct {
		goLine           string
		without          string // what the program needs if its dependency alone uses v4
		prepare, finally string
	}{
		{"1.13", raise + " && go mod tidy", "", ""},
		{"1.18", raise, "", ""},
		{"1.22", raise, "", ""},
		{"1.23", "", "", ""},
		{"1.18", raise, "go mod vendor", "go mod vendor"},
		{"1.22", raise, "go work init && go work edit -go=1.22 -use=.", "go work use"},
	} {
		folder := t.TempDir()
		write := func(name, text string) {
			t.Helper()
			name = filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
			require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
		}
		shell := func(program string, commands ...string) string {
			t.Helper()
			command := exec.Command("bash", "-euc", strings.Join(commands, "\n"))
			command.Dir = filepath.Join(folder, program)
			command.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=")
			output, err := command.CombinedOutput()
			require.NoError(t, err, "go %s: %s\n%s", test.goLine, command, output)
			return string(output)
		}
		require.NoError(t, os.Symlink(repository, filepath.Join(folder, "backoff")))
		write("dependency/go.mod", "module example.org/dependency\n\ngo 1.18\n\nrequire github.com/cenkalti/backoff/v4 v4.3.0\n")
		write("dependency/dependency.go", dependency)
		for program, source := range map[string]string{"both": before, "alone": alone} {
			write(program+"/go.mod", "module program\n\ngo "+test.goLine+
				"\n\nrequire example.org/dependency v1.0.0\n\nreplace example.org/dependency => ../dependency\n")
			write(program+"/main.go", source)
			shell(program, "go mod tidy", test.prepare)
		}
		const use = "go run ."
		require.Equal(t, "1 gone\n", shell("both", use))
		shell("both", add, imports, tidy, test.finally)
		require.Equal(t, "6 gone\n", shell("both", use), "two sets of types")
		shell("both", replace, test.finally)
		require.Equal(t, "1 gone\n", shell("both", use), "one set of types")

		shell("alone", add, replace, test.without, test.finally)
		require.Equal(t, "6 gone\n", shell("alone", use))
		require.Regexp(t, `/dependency/dependency\.go:\d+:.*err == context\.Canceled`, shell("alone", look))
		require.Contains(t, shell("alone", "go list -m -f '{{.Replace}}' github.com/cenkalti/backoff/v4"), "cenkalti")
	}
}
