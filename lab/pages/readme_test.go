package pages_test

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

// These functions are those of pages.

func FetchUser(ctx context.Context, id string) (*User, error) {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)

	return backoff.RetryWithData(func() (*User, error) {
		attemptCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()

		user, err := users.Get(attemptCtx, id) // users is your client
		if errors.Is(err, ErrNotFound) {
			return nil, backoff.Permanent(err) // trying again will not help
		}
		return user, err
	}, backoff.WithContext(policy, ctx))
}

func stayConnected(ctx context.Context) error {
	policy := backoff.WithContext(
		backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)),
		ctx,
	)

	return backoff.Retry(func() error {
		start := time.Now()
		err := listen(ctx) // until the connection is lost

		if time.Since(start) > time.Minute {
			policy.Reset()
		}
		if err == nil {
			err = errDisconnected // nil would end the loop
		}
		return err
	}, policy)
}

// take waits for a place, for a second at most.
func take(ctx context.Context) (release func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-time.After(time.Second):
		return nil, errNoPlace
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The pages have the functions that are tested here.
func TestPageFunctions(t *testing.T) {
	here := read(t, "lab/pages/readme_test.go")
	for name, page := range map[string]string{"FetchUser": "README.md", "stayConnected": "docs/choosing.md", "take": "docs/choosing.md"} {
		function := regexp.MustCompile(`(?ms)^func ` + name + `\(.*?^}\n`).FindString(here)
		require.True(t, strings.Contains(read(t, page), function), "%s has another %s", page, name)
	}
}

var (
	errRefused      = errors.New("connection refused")
	errDisconnected = errors.New("disconnected")
	errNoPlace      = errors.New("no place")

	places chan struct{}

	listen func(ctx context.Context) error
)

// User and users are what the first example of the README calls.
type User struct{}

// ErrNotFound says that there is no such user.
var ErrNotFound = errors.New("no such user")

var users *directory

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
			users = &test.service
			start := time.Now()
			_, err := FetchUser(t.Context(), "1")
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.attempts, test.service.attempts)
			require.LessOrEqual(t, time.Since(start), test.longest)

			users = &directory{hangs: true}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = FetchUser(ctx, "1")
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 1, users.attempts)
		})
	}
}

// The README shows the first waits of each policy.
func TestReadmeWaits(t *testing.T) {
	readme := read(t, "README.md")
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
		{"| `NewConstantBackOff(time.Second)` | ", backoff.NewConstantBackOff(time.Second), "likewise |"},
	} {
		row := test.row
		for range 3 {
			row += fmt.Sprintf("%.2g s, ", test.policy.NextBackOff().Seconds())
		}
		require.Contains(t, readme, row+"… "+test.limits)
	}
}

// Ten retries take about a minute, and twenty about ten, as docs/choosing.md says.
func TestChoosingWaits(t *testing.T) {
	policy := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithJitter(backoff.NoJitter))
	policy.Reset()
	var after []time.Duration
	total := time.Duration(0)
	for range 20 {
		total += policy.NextBackOff()
		after = append(after, total)
	}
	require.InDelta(t, time.Minute, after[9], float64(5*time.Second))
	require.InDelta(t, 10*time.Minute, after[19], float64(15*time.Second))
}

// The README shows what flaky prints.
func TestReadmeOutput(t *testing.T) {
	_, after, found := strings.Cut(read(t, "README.md"), "```text\n")
	require.True(t, found)
	shown, _, _ := strings.Cut(after, "```")
	require.Contains(t, read(t, "examples/flaky/testdata/output.txt"), shown)
}

// The README names each decorator.
func TestReadmeDecorators(t *testing.T) {
	readme := read(t, "README.md")
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
			require.Regexp(t, `\b`+d.Name.Name+`\b`, readme)
		}
	}
	require.NotZero(t, found)
}

// stayConnected starts over after a healthy connection, not after a short one, and goes on for as long as
// its context, even if a connection ends without an error.
func TestChoosingReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, shutDown := context.WithCancel(t.Context())
		attempts := 0
		var ended time.Time
		var waits []time.Duration
		listen = func(context.Context) error {
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
			return nil
		}

		err := stayConnected(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errDisconnected)
		require.Equal(t, 102, attempts)
		first := func(wait time.Duration) bool { return wait >= 250*time.Millisecond && wait <= 750*time.Millisecond }
		require.True(t, first(waits[0]), waits[0])
		require.GreaterOrEqual(t, waits[98], 30*time.Second)
		require.True(t, first(waits[99]), waits[99])
	})
}

// A place is taken at once if one is free, or when another attempt has ended, but not after a second.
func TestChoosingTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places = make(chan struct{}, 1)
		release, err := take(t.Context())
		require.NoError(t, err)

		start := time.Now()
		_, err = take(t.Context())
		require.ErrorIs(t, err, errNoPlace)
		require.Equal(t, time.Second, time.Since(start))

		time.AfterFunc(time.Second/2, release)
		release, err = take(t.Context())
		require.NoError(t, err)
		defer release()

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = take(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}
