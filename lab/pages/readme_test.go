package pages_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// The README's blocks are whole: together they compile with the imports that they use.
func TestReadmeBlocks(t *testing.T) {
	source := "package readme\n"
	for _, block := range goBlock.FindAllStringSubmatch(read(t, "README.md"), -1) {
		source += block[1]
	}
	file, err := parser.ParseFile(token.NewFileSet(), "README.md", source, 0)
	require.NoError(t, err)
	imported := []string{"backoff", "context", "errors", "fmt", "http", "sql", "time"}
	for _, name := range file.Unresolved {
		if types.Universe.Lookup(name.Name) == nil && !slices.Contains(imported, name.Name) {
			t.Errorf("a block of README.md uses %s, which none declares", name.Name)
		}
	}
}

// database is a connector to a database that refuses connections at first.
type database struct{ attempts, refused int }

func (d *database) Connect(context.Context) (driver.Conn, error) {
	if d.attempts++; d.attempts <= d.refused {
		return nil, errRefused
	}
	return connection{}, nil
}

func (d *database) Driver() driver.Driver { return nil }

type connection struct{ driver.Conn }

func (connection) Close() error { return nil }

// The README's first example, in ping_test.go, makes five retries, and none after its context has ended.
func TestReadmePing(t *testing.T) {
	for _, test := range []struct {
		refused, attempts int
		err               error
	}{
		{0, 1, nil},
		{5, 6, nil},
		{6, 6, errRefused},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &database{refused: test.refused}
			db := sql.OpenDB(d)
			defer db.Close()
			require.Equal(t, test.err, ping(t.Context(), db))
			require.Equal(t, test.attempts, d.attempts)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, ping(ctx, db), context.Canceled)
		})
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
	} {
		for range 3 {
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
			if !regexp.MustCompile(`\b` + d.Name.Name + `\b`).MatchString(readme) {
				t.Errorf("README.md does not name %s", d.Name.Name)
			}
		}
	}
	require.NotZero(t, found)
}

var (
	errGivenUp = errors.New("given up")
	errRefused = errors.New("connection refused")
)

// outcome is the README's.
func outcome(err error) string {
	switch { // limits first: an attempt's own timeout matches DeadlineExceeded too
	case errors.Is(err, errGivenUp), errors.Is(err, backoff.ErrBudgetExhausted):
		return "given up"
	case errors.Is(err, context.Canceled):
		return "shutdown"
	case errors.Is(err, context.DeadlineExceeded):
		return "out of time"
	}
	return fmt.Sprint(err) // the operation's error, or nil
}

// Attempts that time out by themselves are not the loop's deadline, and a shutdown is one whatever the
// last attempt said.
func TestReadmeOutcome(t *testing.T) {
	policy := func(ctx context.Context) backoff.BackOff {
		b := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 5)
		return backoff.WithContext(backoff.WithStopCause(b, errGivenUp), ctx)
	}
	attempt := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	for want, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"given up": context.WithCancel,
		"out of time": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Second)
		},
		"shutdown": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(1500*time.Millisecond, cancel) // perhaps during a wait
			return ctx, cancel
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := end(t.Context())
			defer cancel()
			err := backoff.Retry(func() error { return attempt(ctx) }, policy(ctx))
			require.Equal(t, want, outcome(err), err)
		})
	}
	empty := backoff.WithBudget(&backoff.ZeroBackOff{}, &backoff.Budget{Capacity: -1})
	require.Equal(t, "given up", outcome(backoff.Retry(func() error { return context.DeadlineExceeded }, empty)))
	require.Equal(t, "<nil>", outcome(nil))
	require.Equal(t, "connection refused", outcome(errRefused))
}

// keepConnected is the README's connection loop.
func keepConnected(ctx context.Context, connect func(context.Context) error) (err error) {
	b := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	policy := backoff.WithContext(b, ctx)
	for range backoff.Attempts(policy, &err) {
		start := time.Now()
		err = connect(ctx) // until the connection ends; nil ends the loop
		if time.Since(start) > time.Minute {
			policy.Reset() // it was healthy: start over
		}
	}
	return err
}

// It starts over after a healthy connection, not after a short one, and goes on for as long as its
// context.
func TestReadmeReconnect(t *testing.T) {
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
