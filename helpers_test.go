package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

var (
	errFailed = errors.New("failed")
	errCause  = errors.New("shutting down")
)

// failing returns an operation that fails n times with errFailed, forever if n is negative, and the
// count of its calls.
func failing(n int) (backoff.Operation, *int) {
	calls := new(int)
	return func() error {
		*calls++
		if n >= 0 && *calls > n {
			return nil
		}
		return errFailed
	}, calls
}

// failingAgain returns an operation that fails n times, succeeds once, and starts over.
func failingAgain(n int) backoff.Operation {
	calls := 0
	return func() error {
		if calls++; calls <= n {
			return errFailed
		}
		calls = 0
		return nil
	}
}

// breaking returns an operation that returns err at its first call, and panics at the second.
func breaking(err error) backoff.Operation {
	calls := 0
	return func() error {
		if calls++; calls == 2 {
			panic("boom")
		}
		return err
	}
}

// results returns an operation that returns errs one after the other, then the last one again.
func results(errs ...error) (backoff.Operation, *int) {
	calls := new(int)
	return func() error {
		*calls++
		return errs[min(*calls, len(errs))-1]
	}, calls
}

// limits are what decorators limit a loop by.
type limits struct {
	ctx     context.Context
	retries uint64
	elapsed time.Duration // for a decorator with a parameter of this type
}

// unlimited returns limits that end no loop.
func unlimited() limits {
	return limits{context.Background(), 1000, time.Hour}
}

// decorators are all of the package's.
var decorators = map[string]func(backoff.BackOff, limits) backoff.BackOff{
	"WithContext":    func(b backoff.BackOff, l limits) backoff.BackOff { return backoff.WithContext(b, l.ctx) },
	"WithMaxRetries": func(b backoff.BackOff, l limits) backoff.BackOff { return backoff.WithMaxRetries(b, l.retries) },
}

// eachDecorator runs test with each of the decorators, without a limit, with a user's own, and with all
// of them at once.
func eachDecorator(t *testing.T, test func(t *testing.T, wrap func(backoff.BackOff) backoff.BackOff)) {
	t.Helper()
	for name, wrap := range decorators {
		t.Run(name, func(t *testing.T) {
			test(t, func(b backoff.BackOff) backoff.BackOff { return wrap(b, unlimited()) })
		})
	}
	t.Run("foreign", func(t *testing.T) {
		test(t, func(b backoff.BackOff) backoff.BackOff { return foreign{foreign{b}} })
	})
	t.Run("all", func(t *testing.T) {
		test(t, func(b backoff.BackOff) backoff.BackOff {
			for _, wrap := range decorators {
				b = foreign{wrap(b, unlimited())}
			}
			return b
		})
	})
}

// jitters are all strategies, in the order of their values. The comments in exponential.go have their
// formulas, by which they are tested.
var jitters = []backoff.Jitter{
	backoff.ProportionalJitter, backoff.NoJitter, backoff.FullJitter,
	backoff.EqualJitter, backoff.DecorrelatedJitter, backoff.AdditiveJitter,
}

type retry = func(backoff.Operation, backoff.BackOff) error

// eachLoop runs test with each of the two loops that return an error.
func eachLoop(t *testing.T, test func(t *testing.T, retry retry)) {
	t.Helper()
	t.Run("Retry", func(t *testing.T) { test(t, backoff.Retry) })
	t.Run("Attempts", func(t *testing.T) { test(t, attempt) })
}

// attempt is Retry as a range over Attempts.
func attempt(o backoff.Operation, b backoff.BackOff) (err error) {
	for range backoff.Attempts(b, &err) {
		err = o()
	}
	return err
}

// unpaid is a loop that ends after its first attempt because a budget is empty. It has no policy.
func unpaid(o backoff.Operation, _ backoff.BackOff) error {
	service := backoff.Retrier{Budget: &backoff.Budget{Capacity: -1}}
	return service.Do(context.Background(), func(context.Context) error { return o() })
}

// exhausted is a loop that ends after its first attempt because its policy stops.
func exhausted(o backoff.Operation, _ backoff.BackOff) error {
	service := backoff.Retrier{Policy: func() backoff.BackOff { return &backoff.StopBackOff{} }}
	return service.Do(context.Background(), func(context.Context) error { return o() })
}

// waits returns a policy with these waits, which then stops.
func waits(ds ...time.Duration) *scripted { return &scripted{waits: ds} }

type scripted struct {
	waits  []time.Duration
	next   int
	resets int
}

func (s *scripted) Reset() { s.next, s.resets = 0, s.resets+1 }

func (s *scripted) NextBackOff() time.Duration {
	if s.next >= len(s.waits) {
		return backoff.Stop
	}
	s.next++
	return s.waits[s.next-1]
}

// asking is a policy that calls a function for each wait.
type asking func() time.Duration

func (a asking) Reset() {}

func (a asking) NextBackOff() time.Duration { return a() }

type (
	// foreign is a decorator as a user would write it.
	foreign struct{ backoff.BackOff }

	// opaque is a decorator without Unwrap.
	opaque struct{ backoff.BackOff }

	// mine is a BackOffContext as a user would write it. It does not look at its context itself.
	mine struct {
		backoff.BackOff
		ctx context.Context
	}
)

func (f foreign) Unwrap() backoff.BackOff { return f.BackOff }

func (m mine) Context() context.Context { return m.ctx }

func (m mine) Unwrap() backoff.BackOff { return m.BackOff }

// altered is a decorator whose answers come from a function, which may ask the policy below.
type altered struct {
	foreign
	answer func(below backoff.BackOff) time.Duration
}

func (a altered) NextBackOff() time.Duration { return a.answer(a.BackOff) }

// alter returns b in a decorator with these answers.
func alter(b backoff.BackOff, answer func(below backoff.BackOff) time.Duration) backoff.BackOff {
	return altered{foreign{b}, answer}
}

// veto returns b in a decorator that asks b and then stops.
func veto(b backoff.BackOff) backoff.BackOff {
	return alter(b, func(below backoff.BackOff) time.Duration {
		below.NextBackOff()
		return backoff.Stop
	})
}

// insist returns b in a decorator that asks b so many times, and goes on whatever b says.
func insist(b backoff.BackOff, asks int) backoff.BackOff {
	return alter(b, func(below backoff.BackOff) time.Duration {
		for range asks {
			below.NextBackOff()
		}
		return 0
	})
}

// instantTimer is a Timer whose waits are over at once, and which counts its calls. It must not be stopped before
// its last wait.
type instantTimer struct {
	started []time.Duration
	stops   int
}

func (i *instantTimer) Start(d time.Duration) {
	if i.stops > 0 {
		panic("a wait after Stop")
	}
	i.started = append(i.started, d)
}

func (i *instantTimer) Stop() { i.stops++ }

func (i *instantTimer) C() <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

// nilTimer is a Timer without a channel.
type nilTimer struct{ instantTimer }

func (*nilTimer) C() <-chan time.Time { return nil }

// brokenTimer is a Timer whose waits never end.
type brokenTimer struct{ instantTimer }

func (*brokenTimer) C() <-chan time.Time { return make(chan time.Time) }

// cancellingTimer is a Timer that calls cancel just before a wait is over.
type cancellingTimer struct {
	instantTimer
	cancel func()
}

func (c *cancellingTimer) C() <-chan time.Time {
	c.cancel()
	return c.instantTimer.C()
}

// unaware is a context that is not done, whatever its deadline is.
type unaware struct {
	context.Context
	deadline time.Time
}

func (u unaware) Deadline() (time.Time, bool) { return u.deadline, true }

// merged is a context that ends before its parent does. On Go 1.23, context.Cause finds no cause
// for it.
type merged struct {
	context.Context
	done chan struct{}
}

func (m merged) Done() <-chan struct{} { return m.done }
func (m merged) Err() error            { return context.Canceled }

// silent is a context that breaks the contract: it is done and has no error.
type silent struct{ merged }

func (silent) Err() error { return nil }

// blamed is a context with an error of its own.
type blamed struct {
	context.Context
	err error
}

func (b blamed) Err() error { return b.err }

// cancelled returns a context that is done, for errCause.
func cancelled() context.Context { return cancelledFor(errCause) }

// cancelledFor returns a context that is done, for this cause. If that is nil, it has none.
func cancelledFor(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// stepClock shows the times it is given, one for each reading, and then the last of them. So a test that uses
// it fails if the library reads the clock more often.
type stepClock struct {
	times []time.Duration
	reads int
}

func clockOf(times ...time.Duration) *stepClock { return &stepClock{times: times} }

func (c *stepClock) Now() time.Time {
	now := c.times[min(c.reads, len(c.times)-1)]
	c.reads++
	return time.Time{}.Add(now)
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// draws returns the next n waits of b.
func draws(b backoff.BackOff, n int) []time.Duration {
	var ds []time.Duration
	for range n {
		ds = append(ds, b.NextBackOff())
	}
	return ds
}

// intervals returns the next n waits of b without randomness, which are its intervals.
func intervals(b *backoff.ExponentialBackOff, n int) []time.Duration {
	b.RandomizationFactor = 0
	return draws(b, n)
}

type (
	// uncomparable is an error that == panics on.
	uncomparable struct{ parts []string }

	// dressed is of a comparable type, but comparing two values with an uncomparable inside panics.
	dressed struct{ inside any }

	// shapeshifter answers with a PermanentError when errors.As asks for one.
	shapeshifter struct{ err error }

	// multi wraps several errors, some of which may be nil; package errors skips those.
	multi []error

	// hollow has an Unwrap method that returns nil.
	hollow struct{}

	// unhelpful has an As method that never finds anything.
	unhelpful struct{}

	// kind matches any error of the same name by its Is method.
	kind struct{ name string }

	// code is an error to look for by its type.
	code struct{ number int }
)

func (u uncomparable) Error() string { return fmt.Sprint(u.parts) }
func (d dressed) Error() string      { return fmt.Sprint(d.inside) }
func (s shapeshifter) Error() string { return "shapeshifter" }
func (m multi) Error() string        { return fmt.Sprint([]error(m)) }
func (m multi) Unwrap() []error      { return m }
func (hollow) Error() string         { return "hollow" }
func (hollow) Unwrap() error         { return nil }
func (unhelpful) Error() string      { return "unhelpful" }
func (unhelpful) As(any) bool        { return false }
func (k *kind) Error() string        { return k.name }
func (c *code) Error() string        { return fmt.Sprint("code ", c.number) }

func (s shapeshifter) As(target any) bool {
	p, ok := target.(**backoff.PermanentError)
	if ok {
		*p = &backoff.PermanentError{Err: s.err}
	}
	return ok
}

func (k *kind) Is(target error) bool {
	other, ok := target.(*kind)
	return ok && other.name == k.name
}

// once runs an operation that returns err, requires that it is not retried, and returns the result.
func once(t *testing.T, err error) error {
	t.Helper()
	operation, calls := results(err)
	result := backoff.Retry(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3))
	require.Equal(t, 1, *calls)
	require.Error(t, result)
	return result
}

// requireUnmarked requires that no PermanentError can be found in err.
func requireUnmarked(t *testing.T, err error) {
	t.Helper()
	var mark *backoff.PermanentError
	require.False(t, errors.As(err, &mark), "%T", err)
	require.False(t, errors.Is(err, &backoff.PermanentError{}), "%T", err)
	var shaped interface {
		error
		Unwrap() error
		Is(error) bool
	}
	requireNoMark := func(err error) {
		_, ok := err.(*backoff.PermanentError)
		require.False(t, ok, "%T", err)
	}
	if errors.As(err, &shaped) {
		requireNoMark(shaped)
	}
	walk(err, requireNoMark)
}

// walk calls visit with each error in the tree of err.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		walk(x.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, branch := range x.Unwrap() {
			walk(branch, visit)
		}
	}
}

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

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
