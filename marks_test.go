package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A permanent error below other wrapping keeps the outer text and every match but the marks.
func TestPermanentWrapped(t *testing.T) {
	deep := fmt.Errorf("middle: %w", backoff.Permanent(io.EOF))
	for name, test := range map[string]struct {
		err     error
		matches []error
	}{
		"wrapped":         {fmt.Errorf("outer: %w", backoff.Permanent(errFailed)), []error{errFailed}},
		"twice":           {fmt.Errorf("outer: %w", deep), []error{io.EOF, deep}},
		"joined":          {errors.Join(errFailed, backoff.Permanent(io.EOF)), []error{errFailed, io.EOF}},
		"joined twice":    {errors.Join(backoff.Permanent(errFailed), deep), []error{errFailed, io.EOF, deep}},
		"two wrapped":     {fmt.Errorf("%w and %w", errFailed, backoff.Permanent(io.EOF)), []error{errFailed, io.EOF}},
		"mark on mark":    {fmt.Errorf("outer: %w", backoff.Permanent(deep)), []error{io.EOF, deep}},
		"doubled":         {fmt.Errorf("outer: %w", &backoff.PermanentError{Err: backoff.Permanent(io.EOF)}), []error{io.EOF}},
		"inner wrapped":   {backoff.Permanent(fmt.Errorf("inner: %w", deep)), []error{io.EOF, deep}},
		"marked join":     {backoff.Permanent(errors.Join(io.EOF, deep)), []error{io.EOF, deep}},
		"by As alone":     {fmt.Errorf("outer: %w", shapeshifter{io.EOF}), []error{shapeshifter{io.EOF}}},
		"by As, directly": {shapeshifter{io.EOF}, []error{shapeshifter{io.EOF}}},
		"uncomparable":    {fmt.Errorf("outer: %w", backoff.Permanent(uncomparable{})), nil},
		"comparable type": {fmt.Errorf("outer: %w", backoff.Permanent(errors.Join(dressed{[]int{1}}, io.EOF))), []error{io.EOF}},
		"without cause":   {fmt.Errorf("outer: %w", &backoff.PermanentError{}), nil},
		"nil in a join":   {multi{nil, backoff.Permanent(io.EOF), nil}, []error{io.EOF}},
		"nothing below":   {errors.Join(hollow{}, backoff.Permanent(io.EOF)), []error{hollow{}, io.EOF}},
		"unhelpful As":    {errors.Join(unhelpful{}, backoff.Permanent(io.EOF)), []error{unhelpful{}, io.EOF}},
		"by Is":           {errors.Join(&kind{"a"}, backoff.Permanent(fmt.Errorf("b: %w", &kind{"b"}))), []error{&kind{"a"}, &kind{"b"}}},
		"by Is, above":    {alias{backoff.Permanent(io.EOF), io.ErrShortWrite}, []error{io.ErrShortWrite, io.EOF}},
		"by Is, joined":   {errors.Join(alias{backoff.Permanent(io.EOF), io.ErrShortWrite}), []error{io.ErrShortWrite, io.EOF}},
		"own Is":          {asker{backoff.Permanent(io.EOF)}, []error{io.EOF}},
		"server's wait":   {fmt.Errorf("outer: %w", backoff.RetryAfter(backoff.Permanent(io.EOF), 1)), []error{io.EOF}},
	} {
		t.Run(name, func(t *testing.T) {
			result := once(t, test.err)
			require.Equal(t, test.err.Error(), result.Error())
			for _, match := range test.matches {
				require.ErrorIs(t, result, match)
			}
			require.NotErrorIs(t, result, errCause)
			requireUnmarked(t, result)
		})
	}
}

// alias wraps an error and matches another one as well.
type alias struct {
	error
	other error
}

func (a alias) Unwrap() error        { return a.error }
func (a alias) Is(target error) bool { return target == a.other }

// asker is an error whose own Is method asks what it wraps.
type asker struct{ error }

func (a asker) Unwrap() error        { return a.error }
func (a asker) Is(target error) bool { return errors.Is(a.error, target) }

// What errors.As finds in the whole it finds in the result, with the same value.
func TestPermanentAs(t *testing.T) {
	result := once(t, fmt.Errorf("outer: %w", backoff.Permanent(uncomparable{[]string{"a"}})))
	var list uncomparable
	require.ErrorAs(t, result, &list)
	require.Equal(t, []string{"a"}, list.parts)

	whole := errors.Join(&code{1}, backoff.Permanent(fmt.Errorf("x: %w", &code{2})))
	var found *code
	require.ErrorAs(t, once(t, whole), &found)
	require.Equal(t, 1, found.number)

	require.ErrorAs(t, once(t, offering{backoff.Permanent(io.EOF)}), &found)
	require.Equal(t, 7, found.number, "the method of an error above the mark is asked")

	var joined multi
	require.ErrorAs(t, once(t, multi{backoff.Permanent(io.EOF)}), &joined)
	require.Len(t, joined, 1)

	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, once(t, fmt.Errorf("x: %w", backoff.Permanent(slow{}))), &timeout)
	require.True(t, timeout.Timeout())
	require.ErrorAs(t, once(t, slowly{backoff.Permanent(io.EOF)}), &timeout)
	require.True(t, timeout.Timeout())

	// In the order of the whole: the first server's wait stays the first.
	var asked *backoff.RetryAfterError
	require.ErrorAs(t, once(t, errors.Join(
		backoff.RetryAfter(errFailed, time.Second),
		backoff.RetryAfter(backoff.Permanent(io.EOF), time.Hour),
	)), &asked)
	require.Equal(t, time.Second, asked.Duration)
	require.ErrorAs(t, once(t, fmt.Errorf("x: %w", errors.Join(asAsking{7}, backoff.Permanent(io.EOF)))), &asked)
	require.EqualValues(t, 7, asked.Duration, "an As method below is asked")
}

// offering is an error whose own As method finds a code.
type offering struct{ error }

func (o offering) Unwrap() error { return o.error }

func (o offering) As(target any) bool {
	c, ok := target.(**code)
	if ok {
		*c = &code{7}
	}
	return ok
}

type slow struct{}

func (slow) Error() string { return "slow" }
func (slow) Timeout() bool { return true }

type slowly struct{ error }

func (s slowly) Unwrap() error { return s.error }
func (slowly) Timeout() bool   { return true }

// An inner loop's mark does not stop an outer loop.
func TestPermanentNested(t *testing.T) {
	for _, err := range []error{
		backoff.Permanent(errFailed),
		&backoff.PermanentError{Err: backoff.Permanent(errFailed)},
		fmt.Errorf("outer: %w", backoff.Permanent(errFailed)),
		errors.Join(errFailed, backoff.Permanent(io.EOF)),
		shapeshifter{io.EOF},
		&backoff.PermanentError{},
		(*backoff.PermanentError)(nil),
	} {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := results(err)
			_ = retry(func() error {
				return fmt.Errorf("again: %w", retry(operation, &backoff.ZeroBackOff{}))
			}, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2))
			require.Equal(t, 3, *calls, "%v", err)
		})
	}
}

// Nor does a mark in the reason for which an inner loop gave up.
func TestPermanentReason(t *testing.T) {
	marked := backoff.Permanent(errCause)
	doubled := &backoff.PermanentError{Err: marked}
	wrapped := fmt.Errorf("cause: %w", marked)
	inContext := func(ctx context.Context) backoff.BackOff { return backoff.WithContext(waits(0), ctx) }
	for name, test := range map[string]struct {
		policy backoff.BackOff
		want   string
	}{
		"context's cause":          {inContext(cancelledFor(marked)), "context canceled: shutting down: failed"},
		"context's cause, doubled": {inContext(cancelledFor(doubled)), "context canceled: shutting down: failed"},
		"context's cause, wrapped": {inContext(cancelledFor(wrapped)), "context canceled: cause: shutting down: failed"},
		"context's cause, bare":    {inContext(cancelledFor(&backoff.PermanentError{})), "context canceled: permanent error: failed"},
		"context's error":          {inContext(blamed{context.Background(), marked}), "shutting down: failed"},
		"context's error, wrapped": {inContext(blamed{context.Background(), wrapped}), "cause: shutting down: failed"},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				operation, calls := failing(-1)
				err := retry(func() error { return retry(operation, test.policy) }, waits(0, 0))
				require.Equal(t, 3, *calls, "the outer loop goes on")
				require.EqualError(t, err, test.want)
				require.ErrorIs(t, err, errFailed)
				require.Equal(t, name != "context's cause, bare", errors.Is(err, errCause))
				requireUnmarked(t, err)
			})
		})
	}
}

// visitor is an error that counts the calls of its methods, by which a tree is searched.
type visitor struct {
	err    error
	visits *int
}

func (v visitor) Error() string      { return "visitor" }
func (v visitor) Is(error) bool      { *v.visits++; return false }
func (v visitor) As(any) bool        { *v.visits++; return false }
func (v visitor) Unwrap() error      { *v.visits++; return v.err }
func (v visitor) with(e error) error { v.err = e; return v }

// search looks through all of err.
func search(err error) {
	_ = errors.Is(err, errCause)
	_ = errors.As(err, new(*code))
}

// Errors that came up through k nested loops cost O(k) to search. (Each level doubled the cost once.)
func TestPermanentDepth(t *testing.T) {
	for name, wrap := range map[string]func(v visitor, inner error) error{
		"marked":         func(v visitor, inner error) error { return v.with(backoff.Permanent(inner)) },
		"wrapped":        func(v visitor, inner error) error { return fmt.Errorf("x: %w", backoff.Permanent(v.with(inner))) },
		"not marked":     func(v visitor, inner error) error { return v.with(inner) },
		"joined":         func(v visitor, inner error) error { return errors.Join(v.with(backoff.Permanent(inner)), errFailed) },
		"server's wait":  func(v visitor, inner error) error { return backoff.RetryAfter(v.with(backoff.Permanent(inner)), 1) },
		"budget refused": func(v visitor, inner error) error { return v.with(inner) },
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(k int) (visited, allocs int) {
				visits := new(int)
				v := visitor{visits: visits}
				err := v.with(backoff.Permanent(errFailed))
				for range k {
					retry := backoff.Retry
					if name == "budget refused" {
						retry = unpaid
					}
					wrapped := wrap(v, err)
					err = retry(func() error { return wrapped }, &backoff.StopBackOff{})
				}
				requireUnmarked(t, err)
				require.ErrorIs(t, err, errFailed)
				*visits = 0
				search(err)
				return *visits, int(testing.AllocsPerRun(1, func() { search(err) }))
			}
			visited, allocs := cost(50)
			require.Positive(t, visited)
			visitedTwice, allocsTwice := cost(100)
			require.LessOrEqual(t, visitedTwice, 2*visited+10)
			require.LessOrEqual(t, allocsTwice, 2*allocs+10)
		})
	}
}
