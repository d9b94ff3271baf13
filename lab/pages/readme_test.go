package pages_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// What follows, up to TestReadmeFunctions, stands in the README.

var users = backoff.Retrier{ // one for each service, shared by all calls to it
	AttemptTimeout: 2 * time.Second,
	Slots:          backoff.NewSlots(20), // calls in progress, in this process
}

func FetchUser(ctx context.Context, id string) (*User, error) {
	return backoff.DoWithData(ctx, &users, func(ctx context.Context) (*User, error) {
		user, err := api.Get(ctx, id) // api is your client
		if errors.Is(err, ErrNotFound) {
			return nil, backoff.Permanent(err) // trying again will not help
		}
		return user, err
	})
}

// The README has all that stands above.
func TestReadmeFunctions(t *testing.T) {
	here := read(t, "lab/pages/readme_test.go")
	_, after, found := strings.Cut(here, "stands in the README.\n\n")
	require.True(t, found)
	code, _, _ := strings.Cut(after, "\n// The README has")
	require.True(t, strings.Contains(read(t, "README.md"), code), "README.md has another FetchUser")
}

var errRefused = errors.New("connection refused")

// User and api are what the first example of the README calls.
type User struct{}

// ErrNotFound says that there is no such user.
var ErrNotFound = errors.New("no such user")

var api *directory

// directory is a client of a service that refuses connections at first, or hangs, or knows no user.
type directory struct {
	attempts, refused int
	hangs, empty      bool
}

// Get returns a user.
func (d *directory) Get(ctx context.Context, _ string) (*User, error) {
	d.attempts++
	switch {
	case d.hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	case d.attempts <= d.refused:
		return nil, errRefused
	case d.empty:
		return nil, ErrNotFound
	}
	return &User{}, nil
}

// The first example makes up to four attempts of two seconds at most, and none after its context has ended.
func TestReadmeFetchUser(t *testing.T) {
	for _, test := range []struct {
		service  directory
		attempts int
		err      error
		longest  time.Duration // with the longest waits
	}{
		{directory{}, 1, nil, 0},
		{directory{refused: 3}, 4, nil, 3600 * time.Millisecond},
		{directory{refused: 4}, 4, errRefused, 3600 * time.Millisecond},
		{directory{hangs: true}, 4, context.DeadlineExceeded, 11600 * time.Millisecond},
		{directory{empty: true}, 1, ErrNotFound, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			api = &test.service
			start := time.Now()
			_, err := FetchUser(t.Context(), "1")
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.attempts, test.service.attempts)
			require.LessOrEqual(t, time.Since(start), test.longest)

			api = &directory{hangs: true}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = FetchUser(ctx, "1")
			require.ErrorIs(t, err, context.Canceled)
			require.Zero(t, api.attempts)
		})
	}
}

// The page about policies shows the first waits of each.
func TestPolicyWaits(t *testing.T) {
	page := read(t, "docs/extending.md")
	defaults := backoff.NewExponentialBackOff()
	limits := fmt.Sprintf("up to %.0f s, each ± %.0f %%, for %.0f minutes in all |",
		defaults.MaxInterval.Seconds(), 100*defaults.RandomizationFactor, defaults.MaxElapsedTime.Minutes())
	for _, test := range []struct {
		row    string
		policy backoff.BackOff
		limits string
	}{
		{"| `NewExponentialBackOff()` | ", backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter)), limits},
		{"| `NewLinearBackOff(time.Second)` | ", backoff.NewLinearBackOff(time.Second), "without jitter and without end |"},
		{"| `NewConstantBackOff(time.Second)` | ", backoff.NewConstantBackOff(time.Second), "without jitter and without end |"},
	} {
		row := test.row
		for range 3 {
			row += fmt.Sprintf("%.2g s, ", test.policy.NextBackOff().Seconds())
		}
		require.Contains(t, page, row+"… "+test.limits)
	}
}

// It names each decorator.
func TestPolicyDecorators(t *testing.T) {
	page := read(t, "docs/extending.md")
	names, err := filepath.Glob("../../*.go")
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
			require.Regexp(t, `\b`+d.Name.Name+`\b`, page)
		}
	}
	require.NotZero(t, found)
}
