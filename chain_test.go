package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// source calls visit with each declaration of the library's source.
func source(t *testing.T, visit func(ast.Decl)) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			visit(decl)
		}
	}
}

// The tables of decorators and jitters, which many tests go through, leave none out, nor do the pages
// that list them.
func TestTables(t *testing.T) {
	var wrappers, constants []string
	source(t, func(decl ast.Decl) {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && strings.HasPrefix(d.Name.Name, "With") && fmt.Sprint(d.Type.Params.List[0].Type) == "BackOff" {
				wrappers = append(wrappers, d.Name.Name)
			}
		case *ast.GenDecl:
			if first, ok := d.Specs[0].(*ast.ValueSpec); ok && fmt.Sprint(first.Type) == "Jitter" {
				for _, spec := range d.Specs {
					constants = append(constants, spec.(*ast.ValueSpec).Names[0].Name)
				}
			}
		}
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(decorators)), wrappers)
	var names []string
	for _, jitter := range jitters {
		names = append(names, jitter.String())
	}
	require.Equal(t, constants, names)

	for page, listed := range map[string][]string{"README.md": wrappers, "backoff.go": wrappers, "docs/choosing.md": names} {
		text := readText(t, page)
		for _, name := range listed {
			require.Contains(t, text, name, page)
		}
	}
}

// Every decorator has the method by which contexts, observers and budgets are found, passes waits and
// Reset on, and takes a nil policy for the default one.
func TestDecorator(t *testing.T) {
	for name, wrap := range decorators {
		t.Run(name, func(t *testing.T) {
			inner := waits(1, 2)
			b := wrap(inner)
			require.Same(t, inner, b.(interface{ Unwrap() backoff.BackOff }).Unwrap())
			require.Equal(t, []time.Duration{1, 2, backoff.Stop}, draws(b, 3))
			b.Reset()
			require.Equal(t, 1, inner.resets)
			require.Equal(t, []time.Duration{1, 2, backoff.Stop}, draws(b, 3))

			wait := wrap(nil).NextBackOff()
			require.GreaterOrEqual(t, wait, backoff.DefaultInitialInterval/2)
			require.LessOrEqual(t, wait, backoff.DefaultInitialInterval*3/2)
		})
	}
}

// What a policy remembers for a loop's decision does not reach the next loop, nor a caller by hand.
func TestLoopEnd(t *testing.T) {
	asked := backoff.RetryAfter(errFailed, 50)
	failing := func() error { return asked }
	for name, run := range map[string]func(t *testing.T, b backoff.BackOff, retry retry){
		"a decorator answers without asking": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(failing, vetoing{foreign{stubborn{foreign{b}, 0}}}))
		},
		"a policy panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Panics(t, func() { _ = retry(failing, forgetful{foreign{b}}) })
		},
		"an observer panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			calls := 0
			require.Panics(t, func() {
				_ = retry(failing, backoff.WithRetryIf(stubborn{foreign{b}, 0}, func(error) bool {
					if calls++; calls == 2 {
						panic("boom")
					}
					return true
				}))
			})
		},
		"the operation panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Panics(t, func() { _ = retry(breaking(asked), stubborn{foreign{b}, 0}) })
		},
		"the operation ends the goroutine": func(t *testing.T, b backoff.BackOff, retry retry) {
			done, calls := make(chan struct{}), 0
			go func() {
				defer close(done)
				_ = retry(func() error {
					if calls++; calls == 2 {
						runtime.Goexit()
					}
					return asked
				}, stubborn{foreign{b}, 0})
			}()
			<-done
		},
		"the context ends": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(failing, backoff.WithContext(b, cancelled())))
		},
		"success": func(t *testing.T, b backoff.BackOff, retry retry) {
			operation, _ := results(asked, nil)
			require.NoError(t, retry(operation, stubborn{foreign{b}, 0}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				exp := &backoff.ExponentialBackOff{InitialInterval: 1, MaxElapsedTime: 10 * time.Millisecond, Clock: clockOf(0)}
				run(t, exp, retry)
				exp.Reset()
				require.EqualValues(t, 1, exp.NextBackOff())
				exp.MaxElapsedTime = 1
				require.Zero(t, draws(exp, 2)[1], "by hand, past the limit, it is v4's")
			})
		})
	}
	t.Run("WithRetryIf", func(t *testing.T) {
		eachLoop(t, func(t *testing.T, retry retry) {
			b := backoff.WithRetryIf(&backoff.ZeroBackOff{}, isEOF)
			require.Same(t, errFailed, retry(func() error { return errFailed }, b))
			require.Zero(t, b.NextBackOff())
		})
		b := backoff.WithRetryIf(&backoff.ZeroBackOff{}, isEOF)
		var err error
		for range backoff.Attempts(b, &err) {
			err = errFailed
			break
		}
		require.Zero(t, b.NextBackOff())
	})
}

// forgetful is a decorator that panics and does not ask the policy below.
type forgetful struct{ foreign }

func (forgetful) NextBackOff() time.Duration { panic("boom") }

// Whatever the order of the decorators: the same calls, the same error, the same charge.
func TestDecoratorOrder(t *testing.T) {
	near, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	live := context.Background()
	names := append(slices.Collect(maps.Keys(decorators)), "foreign")
	for name, test := range map[string]struct {
		ctx      context.Context
		capacity int
		asked    time.Duration
		fatal    int // the call whose error is not retryable
		calls    int
		spent    int
		ends     error
	}{
		"retries used up":     {live, 0, 0, 0, 5, 20, errFailed},
		"not retryable":       {live, 0, 0, 3, 3, 10, io.EOF},
		"budget used up":      {live, 12, 0, 0, 3, 10, backoff.ErrBudgetExhausted},
		"context done":        {cancelled(), 0, 0, 0, 1, 0, context.Canceled},
		"deadline too near":   {near, 0, 2 * time.Hour, 0, 1, 0, context.DeadlineExceeded},
		"first not retryable": {live, 0, 0, 1, 1, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			permutations(len(names), func(order []int) {
				for _, retry := range []retry{backoff.Retry, attempt} {
					budget := &backoff.Budget{Capacity: test.capacity}
					full := budget.Tokens()
					var b backoff.BackOff = &backoff.ZeroBackOff{}
					wraps := map[string]func(backoff.BackOff) backoff.BackOff{
						"WithContext":    func(b backoff.BackOff) backoff.BackOff { return backoff.WithContext(b, test.ctx) },
						"WithMaxRetries": func(b backoff.BackOff) backoff.BackOff { return backoff.WithMaxRetries(b, 4) },
						"WithRetryIf": func(b backoff.BackOff) backoff.BackOff {
							return backoff.WithRetryIf(b, func(err error) bool { return !isEOF(err) })
						},
						"WithBudget":    func(b backoff.BackOff) backoff.BackOff { return backoff.WithBudget(b, budget) },
						"WithStopCause": func(b backoff.BackOff) backoff.BackOff { return backoff.WithStopCause(b, errCause) },
						"foreign":       func(b backoff.BackOff) backoff.BackOff { return foreign{b} },
					}
					for _, i := range order {
						b = wraps[names[i]](b)
					}
					calls := 0
					err := retry(func() error {
						if calls++; calls == test.fatal {
							return io.EOF
						}
						return backoff.RetryAfter(errFailed, test.asked)
					}, b)
					if test.calls != calls || !errors.Is(err, test.ends) || test.spent != full-budget.Tokens() {
						require.Fail(t, "another end", "order %v: %d calls, %v, %d spent", order, calls, err, full-budget.Tokens())
					}
				}
			})
		})
	}
}
