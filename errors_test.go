package backoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type uncomparable struct{ parts []string }

func (u uncomparable) Error() string { return fmt.Sprint(u.parts) }

// dressed is comparable as a type, but comparing two values with an uncomparable inside panics.
type dressed struct{ inside any }

func (d dressed) Error() string { return fmt.Sprint(d.inside) }

// shapeshifter becomes a PermanentError when errors.As asks for one.
type shapeshifter struct{ err error }

func (s shapeshifter) Error() string { return "shapeshifter" }

func (s shapeshifter) As(target any) bool {
	p, ok := target.(**PermanentError)
	if ok {
		*p = &PermanentError{Err: s.err}
	}
	return ok
}

// once runs an operation that returns err, requires that it is not retried, and returns the result.
func once(t *testing.T, err error) error {
	t.Helper()
	calls := 0
	result := Retry(func() error { calls++; return err }, WithMaxRetries(&ZeroBackOff{}, 3))
	require.Equal(t, 1, calls)
	require.Error(t, result)
	return result
}

func requireUnmarked(t *testing.T, err error) {
	t.Helper()
	var mark *PermanentError
	require.False(t, errors.As(err, &mark), "%v", err)
	require.NotErrorIs(t, err, &PermanentError{})
	var shaped interface {
		error
		Unwrap() error
		Is(error) bool
	}
	if errors.As(err, &shaped) {
		require.IsNotType(t, mark, shaped)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		require.IsNotType(t, mark, err)
	}
}

func TestPermanentReturnsTheErrorItself(t *testing.T) {
	require.Same(t, errFailed, once(t, Permanent(errFailed)))
	require.Same(t, errFailed, once(t, Permanent(Permanent(errFailed))))
	require.NoError(t, Permanent(nil))
}

func TestPermanentBelowOtherWrappingKeepsTheOuterText(t *testing.T) {
	deep := fmt.Errorf("middle: %w", Permanent(io.EOF))
	for name, test := range map[string]struct {
		err     error
		matches []error
	}{
		"wrapped":       {fmt.Errorf("outer: %w", Permanent(errFailed)), []error{errFailed}},
		"twice":         {fmt.Errorf("outer: %w", deep), []error{io.EOF}},
		"joined":        {errors.Join(errFailed, Permanent(io.EOF)), []error{errFailed, io.EOF}},
		"joined twice":  {errors.Join(Permanent(errFailed), deep), []error{errFailed, io.EOF}},
		"two wrapped":   {fmt.Errorf("%w and %w", errFailed, Permanent(io.EOF)), []error{errFailed, io.EOF}},
		"mark on mark":  {fmt.Errorf("outer: %w", Permanent(deep)), []error{io.EOF}},
		"inner wrapped": {Permanent(fmt.Errorf("inner: %w", deep)), []error{io.EOF}},
		"by As alone":   {fmt.Errorf("outer: %w", shapeshifter{io.EOF}), []error{shapeshifter{io.EOF}, io.EOF}},
		"uncomparable":  {fmt.Errorf("outer: %w", Permanent(uncomparable{})), nil},
		"without cause": {fmt.Errorf("outer: %w", &PermanentError{}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := once(t, test.err)
			require.Equal(t, test.err.Error(), result.Error())
			for _, match := range test.matches {
				require.ErrorIs(t, result, match)
			}
			requireUnmarked(t, result)
		})
	}
}

func TestPermanentDeeperDownStillMatchesByType(t *testing.T) {
	result := once(t, fmt.Errorf("outer: %w", Permanent(uncomparable{[]string{"a"}})))
	var found uncomparable
	require.ErrorAs(t, result, &found)
	require.Equal(t, []string{"a"}, found.parts)
}

func TestInnerPermanentDoesNotStopAnOuterRetry(t *testing.T) {
	for _, err := range []error{
		Permanent(errFailed),
		fmt.Errorf("outer: %w", Permanent(errFailed)),
		errors.Join(errFailed, Permanent(io.EOF)),
		&PermanentError{},
	} {
		calls := 0
		_ = Retry(func() error {
			return Retry(func() error { calls++; return err }, &ZeroBackOff{})
		}, WithMaxRetries(&ZeroBackOff{}, 2))
		require.Equal(t, 3, calls, "%v", err)
	}
}

func TestPermanentErrorWithoutErrIsAFailure(t *testing.T) {
	for _, err := range []error{&PermanentError{}, (*PermanentError)(nil)} {
		result := once(t, err)
		require.Equal(t, "permanent error", result.Error())
		require.NoError(t, errors.Unwrap(result))
		requireUnmarked(t, result)
	}
}

func TestPermanentErrorsAreEqualIfTheyHoldTheSameError(t *testing.T) {
	a, b := errors.New("same text"), errors.New("same text")
	list := uncomparable{[]string{"x"}}
	for name, test := range map[string]struct {
		err, target error
		want        bool
	}{
		"same error":          {Permanent(a), Permanent(a), true},
		"other error":         {Permanent(a), Permanent(b), false},
		"probe":               {Permanent(a), &PermanentError{}, true},
		"probed":              {&PermanentError{}, Permanent(a), true},
		"wrapped probe":       {fmt.Errorf("x: %w", Permanent(a)), &PermanentError{}, true},
		"nil probe":           {Permanent(a), (*PermanentError)(nil), true},
		"its own error":       {Permanent(a), a, true},
		"another type":        {Permanent(a), b, false},
		"not permanent":       {a, &PermanentError{}, false},
		"uncomparable":        {Permanent(list), Permanent(list), false},
		"uncomparable inside": {Permanent(dressed{[]int{1}}), Permanent(dressed{[]int{1}}), false},
		"comparable inside":   {Permanent(dressed{1}), Permanent(dressed{1}), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, errors.Is(test.err, test.target))
		})
	}
}

func TestPermanentErrorMethods(t *testing.T) {
	err := Permanent(errFailed)
	require.Equal(t, "failed", err.Error())
	require.Same(t, errFailed, errors.Unwrap(err))
	var mark *PermanentError
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &mark)
	require.Same(t, errFailed, mark.Err)
}

// Errors of many shapes, none of them permanent, are retried.
func TestOtherErrorsAreNotTakenForPermanent(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("outer: %w", errFailed),
		errors.Join(errFailed, io.EOF),
		uncomparable{},
		multi{errFailed, nil},
		nothingBelow{},
		asNothing{},
	} {
		calls := 0
		got := Retry(func() error { calls++; return err }, waits(0, 0))
		require.Equal(t, 3, calls)
		require.Equal(t, err, got)
	}
}

// multi may hold nil errors, which the standard library passes over too.
type multi []error

func (m multi) Error() string   { return fmt.Sprint([]error(m)) }
func (m multi) Unwrap() []error { return m }

// asNothing has an As method that never helps.
type asNothing struct{}

func (asNothing) Error() string { return "as nothing" }
func (asNothing) As(any) bool   { return false }

type nothingBelow struct{}

func (nothingBelow) Error() string { return "nothing below" }
func (nothingBelow) Unwrap() error { return nil }

func TestRetryAfterKeepsItsCause(t *testing.T) {
	err := RetryAfter(errFailed, 3*time.Second)
	require.EqualError(t, err, "failed (retry after 3s)")
	require.ErrorIs(t, err, errFailed)
	var asking *RetryAfterError
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &asking)
	require.Equal(t, 3*time.Second, asking.Duration)
	require.Same(t, errFailed, asking.Err)
	require.NoError(t, RetryAfter(nil, time.Second))

	require.EqualError(t, RetryAfter(errFailed, -1), "failed", "it asks for nothing")
	bare := &RetryAfterError{Duration: time.Second}
	require.EqualError(t, bare, "retry after 1s")
	require.NoError(t, errors.Unwrap(bare))
}

func TestRetryAfterIsReturnedWhenTheRetriesAreUsedUp(t *testing.T) {
	last := RetryAfter(errFailed, 1)
	require.Same(t, last, Retry(func() error { return last }, waits(0, 0)))
}

func TestPermanentGoesBeforeRetryAfter(t *testing.T) {
	once(t, RetryAfter(Permanent(errFailed), time.Hour))
	once(t, Permanent(RetryAfter(errFailed, time.Hour)))
}

// A nil RetryAfterError in an error asks for nothing.
func TestNilRetryAfterErrorAsksForNothing(t *testing.T) {
	calls := 0
	var none *RetryAfterError
	require.EqualError(t, none, "retry after 0s")
	_ = Retry(func() error { calls++; return none }, waits(0))
	require.Equal(t, 2, calls)
}

// merged is a context of a user's own that ends before its parent does. On Go 1.23, context.Cause
// finds no cause for it.
type merged struct {
	context.Context
	done chan struct{}
}

func (m merged) Done() <-chan struct{} { return m.done }
func (m merged) Err() error            { return context.Canceled }

// silent is a context that breaks its contract: it is done and has no error.
type silent struct{ merged }

func (silent) Err() error { return nil }

func TestContextsOfOtherMakes(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := merged{parent, make(chan struct{})}
	close(done.done)

	operation, calls := failing(-1)
	err := Retry(operation, WithContext(NewConstantBackOff(time.Hour), done))
	require.EqualError(t, err, "context canceled: failed")
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, 1, *calls)

	operation, calls = failing(-1)
	require.Same(t, errFailed, Retry(operation, WithContext(NewConstantBackOff(time.Hour), silent{done})))
	require.Equal(t, 1, *calls, "no loop without waits")
}
