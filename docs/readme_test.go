package docs_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// The README is for the first ten minutes.
const (
	mostLines = 120
	mostWords = 1000
)

func TestReadmeLength(t *testing.T) {
	readme := read(t, "README.md")
	if lines, words := strings.Count(readme, "\n"), len(strings.Fields(readme)); lines > mostLines || words > mostWords {
		t.Errorf("README.md has %d lines and %d words, more than %d and %d", lines, words, mostLines, mostWords)
	}
}

// The README shows what quickstart prints, except that the waits are random.
func TestReadmeOutput(t *testing.T) {
	output := run(t, build(t, "examples/quickstart"))
	waits := regexp.MustCompile(`next attempt in \S+`)
	readme := waits.ReplaceAllString(read(t, "README.md"), "")
	for line := range strings.Lines(output) {
		if !strings.Contains(readme, "\n    "+waits.ReplaceAllString(line, "")) {
			t.Errorf("README.md does not show what examples/quickstart prints: %s", line)
		}
	}
}

// The README shows the first waits of each policy.
func TestReadmeWaits(t *testing.T) {
	readme := regexp.MustCompile(` +`).ReplaceAllString(read(t, "README.md"), " ")
	defaults := backoff.NewExponentialBackOff()
	lines := []string{fmt.Sprintf("→ … → %.0fs, each ± %.0f %%, for %.0f minutes\n",
		defaults.MaxInterval.Seconds(), 100*defaults.RandomizationFactor, defaults.MaxElapsedTime.Minutes())}
	for call, policy := range map[string]backoff.BackOff{
		"NewExponentialBackOff()": backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter)),
		"NewLinearBackOff(1s)":    backoff.NewLinearBackOff(time.Second),
		"NewConstantBackOff(1s)":  backoff.NewConstantBackOff(time.Second),
		"&ZeroBackOff{}":          &backoff.ZeroBackOff{},
	} {
		for range 4 {
			call += fmt.Sprintf(" %.2gs →", policy.NextBackOff().Seconds())
		}
		lines = append(lines, call)
	}
	for _, line := range lines {
		if !strings.Contains(readme, line) {
			t.Errorf("README.md does not show the waits %q", line)
		}
	}
}

// The README names each decorator.
func TestReadmeDecorators(t *testing.T) {
	readme := read(t, "README.md")
	names, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(d.Name.Name, "With") || d.Type.Params.NumFields() < 2 {
				continue
			}
			found++
			if !regexp.MustCompile(`\b` + d.Name.Name + `\b`).MatchString(readme) {
				t.Errorf("name %s in README.md, as newPolicy of example_calls_test.go does with the others", d.Name.Name)
			}
		}
	}
	require.NotZero(t, found)
}

// keepConnected is the README's connection loop.
func keepConnected(ctx context.Context, connect func(context.Context) error) (err error) {
	policy := backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx)
	for range backoff.Attempts(policy, &err) {
		start := time.Now()
		err = connect(ctx) // returns an error when the connection ends; nil ends the loop
		if time.Since(start) > time.Minute {
			policy.Reset() // it was healthy: start over with the first wait
		}
	}
	return err
}

// It starts over after a healthy connection, not after a short one, and goes on for as long as its
// context.
func TestReadmeReconnect(t *testing.T) {
	errRefused := errors.New("connection refused")
	synctest.Test(t, func(t *testing.T) {
		ctx, shutDown := context.WithCancel(t.Context())
		attempts := 0
		var ended time.Time
		var waits []time.Duration
		err := keepConnected(ctx, func(context.Context) error {
			if attempts > 0 {
				waits = append(waits, time.Since(ended))
			}
			switch attempts++; attempts {
			case 100: // each of the last 80 waits is half a minute at least
				time.Sleep(time.Hour)
			case 102:
				shutDown()
			default:
				time.Sleep(time.Minute) // just not healthy
			}
			ended = time.Now()
			return errRefused
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errRefused)
		require.Equal(t, 102, attempts)
		first := func(wait time.Duration) bool { return wait >= 250*time.Millisecond && wait <= 750*time.Millisecond }
		require.True(t, first(waits[0]), waits[0])
		require.GreaterOrEqual(t, waits[98], 30*time.Second)
		require.True(t, first(waits[99]), waits[99])
	})
}
