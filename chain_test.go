package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			visit(decl)
		}
	}
}

// jitterConstants returns the constants of type Jitter in the order of their values.
func jitterConstants(t *testing.T) (constants []*ast.ValueSpec) {
	source(t, func(decl ast.Decl) {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.CONST {
			if first := d.Specs[0].(*ast.ValueSpec); fmt.Sprint(first.Type) == "Jitter" {
				for _, spec := range d.Specs {
					constants = append(constants, spec.(*ast.ValueSpec))
				}
			}
		}
	})
	require.NotEmpty(t, constants)
	return constants
}

// The tables of decorators and of jitters, which many tests go through, leave none out.
func TestTables(t *testing.T) {
	others := maps.Clone(decorators)
	source(t, func(decl ast.Decl) {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Params.NumFields() == 0 || f.Type.Results.NumFields() != 1 ||
			fmt.Sprint(f.Type.Params.List[0].Type) != "BackOff" ||
			!strings.HasPrefix(fmt.Sprint(f.Type.Results.List[0].Type), "BackOff") {
			return
		}
		name := f.Name.Name
		if others[name] == nil {
			t.Errorf("add %s to the table decorators in helpers_test.go", name)
		}
		delete(others, name)
	})
	for name := range others {
		t.Errorf("the table decorators in helpers_test.go has %s, and the package has not", name)
	}

	for i, constant := range jitterConstants(t) {
		name := constant.Names[0].Name
		switch {
		case backoff.Jitter(i).String() != name:
			t.Errorf("add %s to jitterNames in exponential.go", name)
		case i >= len(jitters) || jitters[i].String() != name:
			t.Errorf("add %s to the table jitters in helpers_test.go", name)
		}
	}
}

// below returns what a decorator wraps.
func below(t *testing.T, name string, b backoff.BackOff) backoff.BackOff {
	decorator, ok := b.(interface{ Unwrap() backoff.BackOff })
	if !ok {
		t.Fatalf("give what %s returns a method Unwrap() BackOff", name)
	}
	return decorator.Unwrap()
}

// Every decorator has the method by which a context is found, passes waits and
// Reset on, and takes a nil policy for the default one.
func TestDecorator(t *testing.T) {
	for name, wrap := range decorators {
		t.Run(name, func(t *testing.T) {
			inner := waits(1, 2)
			b := wrap(inner, unlimited())
			require.Same(t, inner, below(t, name, b))
			require.Equal(t, []time.Duration{1, 2, backoff.Stop}, draws(b, 3))
			b.Reset()
			if inner.resets != 1 {
				t.Fatalf("let Reset of what %s returns reset the policy below", name)
			}
			require.Equal(t, []time.Duration{1, 2, backoff.Stop}, draws(b, 3))

			wait := func() time.Duration {
				defer func() { _ = recover() }()
				return wrap(nil, unlimited()).NextBackOff()
			}()
			if wait < backoff.DefaultInitialInterval/2 || wait > backoff.DefaultInitialInterval*3/2 {
				t.Errorf("let a nil policy mean the default one in %s", name)
			}
		})
	}
}

// A wait that a server asks for is seen by a limit of time below a decorator, and by one that a decorator
// has itself: it is not waited for.
func TestDecoratorServerWait(t *testing.T) {
	policies := map[string]backoff.BackOff{}
	l := unlimited()
	l.elapsed = time.Second
	for name, wrap := range decorators {
		policies[name] = wrap(&backoff.ExponentialBackOff{MaxElapsedTime: l.elapsed}, unlimited())
	}
	source(t, func(decl ast.Decl) {
		if f, ok := decl.(*ast.FuncDecl); ok && decorators[f.Name.Name] != nil {
			for _, parameter := range f.Type.Params.List {
				if types.ExprString(parameter.Type) == "time.Duration" {
					policies[f.Name.Name+" alone"] = decorators[f.Name.Name](&backoff.ZeroBackOff{}, l)
				}
			}
		}
	})
	for name, policy := range policies {
		timer := new(instantTimer)
		err := backoff.RetryNotifyWithTimer(func() error {
			if len(timer.started) > 0 {
				return nil
			}
			return backoff.RetryAfter(errFailed, time.Minute)
		}, policy, nil, timer)
		if err == nil {
			t.Errorf("%s: a wait of %v in spite of a limit of %v: let what it returns have a method calledBy, as ExponentialBackOff does",
				name, timer.started, l.elapsed)
		}
	}
}

// However deep a policy is, it is found.
func TestDecoratorDepth(t *testing.T) {
	var b backoff.BackOff = backoff.WithContext(&backoff.ZeroBackOff{}, cancelled())
	for range 10_000 {
		b = foreign{b}
	}
	err := backoff.Retry(func() error { return errFailed }, b)
	require.ErrorIs(t, err, context.Canceled)
}

// What a policy remembers for a loop's decision does not reach the next loop, nor a caller by hand.
func TestLoopEnd(t *testing.T) {
	asked := backoff.RetryAfter(errFailed, 50)
	failing := func() error { return asked }
	for name, run := range map[string]func(t *testing.T, b backoff.BackOff, retry retry){
		"a decorator answers without asking": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(failing, veto(insist(b, 0))))
		},
		"a policy panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			panicking := alter(b, func(backoff.BackOff) time.Duration { panic("boom") })
			require.Panics(t, func() { _ = retry(failing, panicking) })
		},
		"the operation panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Panics(t, func() { _ = retry(breaking(asked), insist(b, 0)) })
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
				}, insist(b, 0))
			}()
			<-done
		},
		"the context ends": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(failing, backoff.WithContext(b, cancelled())))
		},
		"success": func(t *testing.T, b backoff.BackOff, retry retry) {
			operation, _ := results(asked, nil)
			require.NoError(t, retry(operation, insist(b, 0)))
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
}

// Whatever the order of the decorators: the same calls, the same error.
func TestDecoratorOrder(t *testing.T) {
	near, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	names := slices.Sorted(maps.Keys(decorators))
	random := seeded()
	for name, test := range map[string]struct {
		ctx   context.Context
		asked time.Duration
		calls int
		ends  error
	}{
		"retries used up":   {context.Background(), 0, 5, errFailed},
		"context done":      {cancelled(), 0, 1, context.Canceled},
		"deadline too near": {near, 2 * time.Hour, 1, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				for range 10 {
					random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
					l := limits{test.ctx, 4, 3 * time.Hour}
					var b backoff.BackOff = &backoff.ZeroBackOff{}
					for _, name := range names {
						b = decorators[name](b, l)
					}
					calls := 0
					err := retry(func() error {
						calls++
						return backoff.RetryAfter(errFailed, test.asked)
					}, foreign{b})
					require.Equal(t, test.calls, calls, "order %v", names)
					require.ErrorIs(t, err, test.ends, "order %v", names)
				}
			})
		})
	}
}

// max retries are max+1 calls, and each retry is notified. In cenkalti/backoff issue 80, zero meant
// no limit.
func TestMaxRetries(t *testing.T) {
	for _, max := range []uint64{0, 1, 2, 10} {
		operation, calls := failing(-1)
		notified := 0
		err := backoff.RetryNotify(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, max),
			func(error, time.Duration) { notified++ })
		require.Same(t, errFailed, err)
		require.EqualValues(t, max+1, *calls)
		require.EqualValues(t, max, notified)

		operation, calls = failing(-1)
		require.Same(t, errFailed, attempt(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, max)))
		require.EqualValues(t, max+1, *calls)
	}
}

func TestMaxRetriesReset(t *testing.T) {
	inner := waits(1, 2, 3)
	b := backoff.WithMaxRetries(inner, 2)
	for range 2 {
		b.Reset()
		require.EqualValues(t, 1, b.NextBackOff())
		require.EqualValues(t, 2, b.NextBackOff())
		require.Equal(t, backoff.Stop, b.NextBackOff())
		require.Equal(t, backoff.Stop, b.NextBackOff())
		require.Equal(t, 2, inner.next, "the policy is not asked for a retry that the limit forbids")
	}
	require.Equal(t, 2, inner.resets)
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
