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
	"os"
	"path/filepath"
	"regexp"
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

// packageComment returns the package comment.
func packageComment(t *testing.T) string {
	file, err := parser.ParseFile(token.NewFileSet(), "backoff.go", nil, parser.ParseComments)
	require.NoError(t, err)
	return file.Doc.Text()
}

// examples returns the source of all examples.
func examples(t *testing.T) string {
	files, err := filepath.Glob("example*_test.go")
	require.NoError(t, err)
	all := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all += string(text)
	}
	return all
}

// Each policy is in the package comment and has an example.
func TestPolicies(t *testing.T) {
	manual, examples := packageComment(t), examples(t)
	found := 0
	source(t, func(decl ast.Decl) {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "NextBackOff" {
			return
		}
		name := strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")
		if !ast.IsExported(name) {
			return // a decorator's
		}
		found++
		if !strings.Contains(manual, "["+name+"]") {
			t.Errorf("add [%s] to the package comment in backoff.go, and follow \"For a new policy\" in CONTRIBUTING.md", name)
		}
		if !strings.Contains(examples, "\nfunc Example"+name+"() {") && !strings.Contains(examples, "\nfunc ExampleNew"+name+"() {") {
			t.Errorf("add Example%s or ExampleNew%s to example_test.go", name, name)
		}
	})
	require.GreaterOrEqual(t, found, 5)
}

// The pages that comments name are there.
func TestPagesNamed(t *testing.T) {
	page := regexp.MustCompile(`docs/\w+\.md`)
	named := page.FindAllString(packageComment(t), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		require.FileExists(t, name)
	}
}

// The tables of decorators and of jitters, which many tests go through, leave none out.
func TestTables(t *testing.T) {
	manual, examples := packageComment(t), examples(t)
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
		if !strings.Contains(manual, "["+name+"]") {
			t.Errorf("add [%s] to the package comment in backoff.go", name)
		}
		if !strings.Contains(examples, "\nfunc Example"+name+"() {") {
			t.Errorf("add Example%s to example_test.go", name)
		}
	})
	for name := range others {
		t.Errorf("the table decorators in helpers_test.go has %s, and the package has not", name)
	}

	for i, constant := range jitterConstants(t) {
		name := constant.Names[0].Name
		switch {
		case backoff.Jitter(i).String() != name:
			t.Errorf("add %s to jitterNames in jitter.go", name)
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

// Every decorator has the method by which contexts, observers and budgets are found, passes waits and
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

// The comments that users read repeat constants. Who changes one changes them too.
func TestConstants(t *testing.T) {
	values, docs := map[string]string{}, map[string]string{}
	source(t, func(decl ast.Decl) {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			docs[d.Name.Name] = d.Doc.Text()
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					docs[s.Name.Name] = d.Doc.Text()
				case *ast.ValueSpec:
					if len(s.Values) > 0 {
						values[s.Names[0].Name] = types.ExprString(s.Values[0])
					}
				}
			}
		}
	})
	for _, constant := range []struct{ name, value, in, says string }{
		{"budgetWindow", "3 * time.Second", "Budget", "the last three seconds"},
		{"budgetFloor", "5", "Budget", "for at least five"},
		{"budgetFloor", "5", "Budget", "A fresh budget pays for five retries"},
		{"DefaultRetryCost", "5", "Budget", "set Capacity to 5, which pays for one retry"},
		{"budgetFloor", "5", "WithBudget", "A fresh budget pays for five retries"},
		{"defaultAttemptTimeout", "30 * time.Second", "Retrier", "four attempts of up to 30 s each"},
		{"defaultMaxRetries", "3", "Retrier", "up to four attempts"},
		{"DefaultRetryCost", "5", "Budget", "about a fifth of the first attempts that succeed"},
		{"DefaultSuccessRefund", "1", "Budget", "about a fifth of the first attempts that succeed"},
	} {
		doc := strings.Join(strings.Fields(docs[constant.in]), " ")
		if values[constant.name] != constant.value || !strings.Contains(doc, constant.says) {
			t.Errorf("%s is %s, and here %s: let the comment of %s say so (here %q), and follow \"For a constant\" in CONTRIBUTING.md",
				constant.name, values[constant.name], constant.value, constant.in, constant.says)
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
	t.Run("WithBudget", func(t *testing.T) {
		eachLoop(t, func(t *testing.T, retry retry) {
			budget := &backoff.Budget{Capacity: 100}
			b := backoff.WithBudget(&backoff.ZeroBackOff{}, budget)
			require.True(t, budget.Withdraw())
			require.Panics(t, func() { _ = retry(breaking(errFailed), b) })
			left := budget.Tokens()
			b.(backoff.BackOffObserver).Observe(nil)
			require.Equal(t, left+1, budget.Tokens(), "by hand, a success at the first attempt")
		})
	})
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

// Whatever the order of the decorators: the same calls, the same error, the same charge.
func TestDecoratorOrder(t *testing.T) {
	near, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	live := context.Background()
	random := seeded()
	names := slices.Sorted(maps.Keys(decorators))
	for name, test := range map[string]struct {
		ctx      context.Context
		capacity int
		asked    time.Duration
		fatal    int // the call whose error is not retryable
		calls    int
		spent    int
		ends     error
	}{
		"retries used up":     {live, 25, 0, 0, 5, 20, errFailed},
		"not retryable":       {live, 25, 0, 3, 3, 10, io.EOF},
		"budget used up":      {live, 12, 0, 0, 3, 10, backoff.ErrBudgetExhausted},
		"context done":        {cancelled(), 25, 0, 0, 1, 0, context.Canceled},
		"deadline too near":   {near, 25, 2 * time.Hour, 0, 1, 0, context.DeadlineExceeded},
		"first not retryable": {live, 25, 0, 1, 1, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				for _, retry := range []retry{backoff.Retry, attempt} {
					budget := &backoff.Budget{Capacity: test.capacity}
					l := limits{test.ctx, 4, func(err error) bool { return !isEOF(err) }, budget, 3 * time.Hour}
					var b backoff.BackOff = &backoff.ZeroBackOff{}
					for _, name := range names {
						b = decorators[name](b, l)
					}
					calls := 0
					err := retry(func() error {
						calls++
						if calls == test.fatal {
							return io.EOF
						}
						return backoff.RetryAfter(errFailed, test.asked)
					}, foreign{b})
					require.Equal(t, test.calls, calls, "order %v", names)
					require.ErrorIs(t, err, test.ends, "order %v", names)
					require.Equal(t, test.capacity-test.spent, budget.Tokens(), "order %v", names)
				}
			}
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

func TestRetryIf(t *testing.T) {
	b := backoff.WithRetryIf(&backoff.ZeroBackOff{}, isEOF)
	for range 2 {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := results(io.EOF, fmt.Errorf("wrapped: %w", io.EOF), errFailed, io.EOF)
			require.Same(t, errFailed, retry(operation, b))
			require.Equal(t, 3, *calls)

			operation, calls = results(io.EOF, io.EOF, nil)
			require.NoError(t, retry(operation, b))
			require.Equal(t, 3, *calls)

			operation, calls = results(errFailed)
			require.Same(t, errFailed, retry(operation, b), "the first error, too")
			require.Equal(t, 1, *calls)
		})
	}
}

func TestRetryIfByHand(t *testing.T) {
	inner := waits(1, 2)
	b := backoff.WithRetryIf(inner, func(error) bool { return false })
	b.(backoff.BackOffObserver).Observe(errFailed)
	require.Equal(t, backoff.Stop, b.NextBackOff())
	require.Zero(t, inner.next, "the policy below is not asked")
	b.(backoff.BackOffObserver).Observe(nil)
	require.EqualValues(t, 1, b.NextBackOff())
	b.(backoff.BackOffObserver).Observe(errFailed)
	b.Reset()
	require.EqualValues(t, 1, b.NextBackOff(), "Reset forgets the error")
}

// A decorator that starts the policy below over, once that has stopped, does not retry such an error.
func TestRetryIfRestart(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		b := alter(backoff.WithRetryIf(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2), isEOF), func(below backoff.BackOff) time.Duration {
			wait := below.NextBackOff()
			if wait < 0 {
				below.Reset()
				wait = below.NextBackOff()
			}
			return wait
		})
		operation, calls := results(io.EOF, io.EOF, io.EOF, io.EOF, errFailed)
		require.Same(t, errFailed, retry(operation, b))
		require.Equal(t, 5, *calls)
	})
}

// A Ticker does not know the errors.
func TestRetryIfTicker(t *testing.T) {
	ticks := 0
	for range backoff.NewTicker(backoff.WithRetryIf(waits(0, 0), func(error) bool { return false })).C {
		ticks++
	}
	require.Equal(t, 3, ticks)
}

// An observer is told every outcome before it is asked for a wait.
func TestObserver(t *testing.T) {
	for name, test := range map[string]struct {
		outcomes []error
		want     []string
	}{
		"success":           {[]error{nil}, []string{"<nil>"}},
		"failures":          {[]error{errFailed, io.EOF, nil}, []string{"failed", "asked", "EOF", "asked", "<nil>"}},
		"permanent":         {[]error{errFailed, backoff.Permanent(io.EOF)}, []string{"failed", "asked", "EOF"}},
		"the policy's stop": {[]error{io.EOF}, []string{"EOF", "asked", "EOF", "asked", "EOF", "asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachDecorator(t, func(t *testing.T, wrap func(backoff.BackOff) backoff.BackOff) {
				eachLoop(t, func(t *testing.T, retry retry) {
					l := &listener{BackOff: waits(0, 0)}
					operation, _ := results(test.outcomes...)
					_ = retry(operation, wrap(l))
					require.Equal(t, test.want, l.log)
				})
			})
		})
	}
}

func TestObserverChain(t *testing.T) {
	inner := &listener{BackOff: waits(0)}
	outer := &listener{BackOff: foreign{inner}}
	_ = backoff.Retry(func() error { return errFailed }, outer)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, inner.log)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, outer.log)
}
