// Package builds runs tests of the laboratory once more, in a build where this repository's cenkalti has taken the place
// of github.com/cenkalti/backoff/v4. Both have the same path, so no program can have both.
package builds

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"
)

// Replaced reports whether this is that build. Its types are those of the library.
func Replaced() bool {
	return reflect.TypeFor[backoff.ExponentialBackOff]().PkgPath() != "github.com/cenkalti/backoff/v4"
}

// Run runs the current folder's tests whose names match pattern in that build. root is the path of the repository. It
// returns what they write to the file that their flag -out names.
func Run(t *testing.T, root, pattern string) []byte {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "lab", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o666))
	}
	cenkalti, err := filepath.Abs(filepath.Join(root, "cenkalti"))
	require.NoError(t, err)

	modfile := filepath.Join(folder, "go.mod")
	out := filepath.Join(folder, "out")
	for _, args := range [][]string{
		{"mod", "edit", "-replace=github.com/cenkalti/backoff/v4=" + cenkalti, modfile},
		{"test", "-count=1", "-modfile=" + modfile, "-run=" + pattern, ".", "-out=" + out},
	} {
		output, err := exec.Command("go", args...).CombinedOutput()
		require.NoError(t, err, string(output))
	}
	written, err := os.ReadFile(out)
	require.NoError(t, err)
	return written
}
