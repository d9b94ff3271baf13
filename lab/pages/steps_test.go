package pages_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that uses v4, and its dependency, which does too. A mark that the program makes ends the loop of the
// dependency if both have the same types.
const (
	usesV4 = `package main

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
	dependency = `package dependency

import "github.com/cenkalti/backoff/v4"

func Retry(f func() error) error {
	return backoff.Retry(f, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 5))
}
`
)

// The commands of the page about migrating work as they stand: after the first, the program has another backoff than
// its dependency; after the second, the same.
func TestMigratingSteps(t *testing.T) {
	steps := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(read(t, "docs/migrating.md"), -1)
	require.Len(t, steps, 2)
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)

	m := module{t, t.TempDir()}
	require.NoError(t, os.Symlink(repository, filepath.Join(m.folder, "backoff")))
	m.write("dependency/go.mod", "module example.org/dependency\n\ngo 1.18\n\nrequire github.com/cenkalti/backoff/v4 v4.3.0\n")
	m.write("dependency/dependency.go", dependency)
	m.write("program/go.mod", "module program\n\ngo 1.18\n\nrequire example.org/dependency v1.0.0\n\n"+
		"replace example.org/dependency => ../dependency\n")
	m.write("program/main.go", usesV4)

	shell := func(script string) string {
		t.Helper()
		command := m.command("bash", "-euc", script)
		command.Dir = filepath.Join(m.folder, "program")
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
		return string(output)
	}
	shell("go mod tidy")
	require.Equal(t, "1 gone\n", shell("go run ."))
	shell(steps[0][1])
	require.Equal(t, "6 gone\n", shell("go run ."), "two sets of types")
	shell(steps[1][1])
	require.Equal(t, "1 gone\n", shell("go run ."), "one set of types")
}
