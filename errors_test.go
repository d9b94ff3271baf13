package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestPermanent(t *testing.T) {
	require.Same(t, errFailed, once(t, backoff.Permanent(errFailed)))
	require.Same(t, errFailed, once(t, &backoff.PermanentError{Err: backoff.Permanent(errFailed)}), "all marks go")
	require.NoError(t, backoff.Permanent(nil))

	err := backoff.Permanent(errFailed)
	require.Same(t, err, backoff.Permanent(err))
	require.Equal(t, "failed", err.Error())
	require.Same(t, errFailed, errors.Unwrap(err))
	var mark *backoff.PermanentError
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &mark)
	require.Same(t, errFailed, mark.Err)
}

func TestPermanentWithoutErr(t *testing.T) {
	for _, err := range []error{&backoff.PermanentError{}, (*backoff.PermanentError)(nil)} {
		result := once(t, err)
		require.Equal(t, "permanent error", result.Error())
		require.NoError(t, errors.Unwrap(result))
		requireUnmarked(t, result)
	}
}

func TestPermanentIs(t *testing.T) {
	a, b := errors.New("same text"), errors.New("same text")
	list := uncomparable{[]string{"x"}}
	for name, test := range map[string]struct {
		err, target error
		want        bool
	}{
		"same error":          {backoff.Permanent(a), backoff.Permanent(a), true},
		"other error":         {backoff.Permanent(a), backoff.Permanent(b), false},
		"probe":               {backoff.Permanent(a), &backoff.PermanentError{}, true},
		"probed":              {&backoff.PermanentError{}, backoff.Permanent(a), true},
		"wrapped probe":       {fmt.Errorf("x: %w", backoff.Permanent(a)), &backoff.PermanentError{}, true},
		"nil probe":           {backoff.Permanent(a), (*backoff.PermanentError)(nil), true},
		"its own error":       {backoff.Permanent(a), a, true},
		"another type":        {backoff.Permanent(a), b, false},
		"not permanent":       {a, &backoff.PermanentError{}, false},
		"uncomparable":        {backoff.Permanent(list), backoff.Permanent(list), false},
		"uncomparable inside": {backoff.Permanent(dressed{[]int{1}}), backoff.Permanent(dressed{[]int{1}}), false},
		"comparable inside":   {backoff.Permanent(dressed{1}), backoff.Permanent(dressed{1}), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, errors.Is(test.err, test.target))
		})
	}
}

// A PermanentError that holds itself ends a loop like any other, and everything that is asked of the
// result ends too. (The stack overflowed here once.)
func TestPermanentSelf(t *testing.T) {
	self := &backoff.PermanentError{}
	self.Err = self

	byAs := &claimant{}
	byAs.mark = &backoff.PermanentError{}
	byAs.mark.Err = byAs.mark

	byAsOfItself := &claimant{}
	byAsOfItself.mark = &backoff.PermanentError{Err: byAsOfItself}

	for name, err := range map[string]error{
		"direct":               self,
		"direct, wrapped":      fmt.Errorf("outer: %w", self),
		"direct, joined":       errors.Join(errFailed, self),
		"As, direct":           byAs,
		"As, direct, wrapped":  fmt.Errorf("outer: %w", byAs),
		"As, the error itself": byAsOfItself,
	} {
		t.Run(name, func(t *testing.T) {
			claims = 0
			result := once(t, err)
			require.NotEmpty(t, result.Error())
			require.False(t, errors.Is(result, errCause))
			require.False(t, errors.As(result, new(*code)))
			requireUnmarked(t, result)
			require.Less(t, claims, 1_000_000, "the work is bounded")

			operation, calls := results(result)
			require.Error(t, backoff.Retry(operation, waits(0, 0)))
			require.Equal(t, 3, *calls, "an outer loop goes on")
		})
	}
	require.Equal(t, "permanent error", self.Error())
	require.NoError(t, errors.Unwrap(self))
}

// claimant answers with its mark when errors.As asks for a PermanentError.
type claimant struct{ mark *backoff.PermanentError }

var claims int // calls of claimants' As

func (c *claimant) Error() string { return "claimant" }

func (c *claimant) As(target any) bool {
	claims++
	p, ok := target.(**backoff.PermanentError)
	if ok {
		*p = c.mark
	}
	return ok
}

// bottomless is an error below which no search comes to an end.
type bottomless struct{ unwrap func(b *bottomless) []error }

func (b *bottomless) Error() string   { return "bottomless" }
func (b *bottomless) Unwrap() []error { return b.unwrap(b) }

// What is marked comes back as it is, also if it cannot be searched. (cenkalti/backoff v4 does not look below a mark.)
func TestPermanentUnsearchable(t *testing.T) {
	for name, unwrap := range map[string]func(b *bottomless) []error{
		"panic":          func(*bottomless) []error { panic("no errors here") },
		"circle":         func(b *bottomless) []error { return []error{b} },
		"many circles":   func(b *bottomless) []error { return []error{b, b, b} },
		"without an end": func(b *bottomless) []error { return []error{&bottomless{b.unwrap}, errFailed} },
	} {
		t.Run(name, func(t *testing.T) {
			err := &bottomless{unwrap}
			require.Same(t, err, once(t, backoff.Permanent(err)))
			require.Same(t, err, once(t, &backoff.PermanentError{Err: backoff.Permanent(err)}))
		})
	}

	// A long one is searched to its end.
	long := make([]error, 10_000)
	long[len(long)-1] = backoff.Permanent(errFailed)
	requireUnmarked(t, once(t, backoff.Permanent(errors.Join(errFailed, errors.Join(long...)))))
}

// Errors of many shapes, none of them permanent, are retried and returned unchanged.
func TestNotPermanent(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("outer: %w", errFailed),
		errors.Join(errFailed, io.EOF),
		uncomparable{},
		dressed{[]int{1}},
		multi{errFailed, nil},
		hollow{},
		unhelpful{},
	} {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := results(err)
			got := retry(operation, waits(0, 0))
			require.Equal(t, 3, *calls)
			require.Equal(t, err, got)
		})
	}
}

func TestRetryAfter(t *testing.T) {
	err := backoff.RetryAfter(errFailed, 3*time.Second)
	require.EqualError(t, err, "failed (retry after 3s)")
	require.ErrorIs(t, err, errFailed)
	var asking *backoff.RetryAfterError
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &asking)
	require.Equal(t, 3*time.Second, asking.Duration)
	require.Same(t, errFailed, asking.Err)
	require.NoError(t, backoff.RetryAfter(nil, time.Second))
	require.EqualError(t, backoff.RetryAfter(errFailed, 1), "failed (retry after 1ns)")
	for _, d := range []time.Duration{0, -1} {
		require.Same(t, errFailed, backoff.RetryAfter(errFailed, d), "no wait is asked for")
		require.EqualError(t, &backoff.RetryAfterError{Err: errFailed, Duration: d}, "failed")
	}

	bare := &backoff.RetryAfterError{Duration: time.Second}
	require.EqualError(t, bare, "retry after 1s")
	require.NoError(t, errors.Unwrap(bare))
}

// Of several in an error's tree, the one that errors.As finds first counts.
func TestRetryAfterFirst(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"outermost":   {backoff.RetryAfter(backoff.RetryAfter(errFailed, 9*s), 2*s), 2 * s},
		"joined":      {errors.Join(errFailed, backoff.RetryAfter(errFailed, 3*s), backoff.RetryAfter(errFailed, 9*s)), 3 * s},
		"depth first": {errors.Join(fmt.Errorf("deep: %w", backoff.RetryAfter(io.EOF, 4*s)), backoff.RetryAfter(io.EOF, 9*s)), 4 * s},
		"below zero":  {backoff.RetryAfter(backoff.RetryAfter(errFailed, 9*s), 0), 9 * s},
		"by As":       {asAsking{5 * s}, 5 * s},
	} {
		require.Equal(t, []time.Duration{test.want}, recorded(t, waits(0), test.err), name)
	}
}

// A nil *RetryAfterError is an error like any other, and asks for no wait.
func TestRetryAfterNil(t *testing.T) {
	var none *backoff.RetryAfterError
	require.EqualError(t, none, "retry after 0s")
	require.NoError(t, none.Unwrap())
	for _, err := range []error{none, fmt.Errorf("wrapped: %w", none), errors.Join(errFailed, none)} {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := results(err, err, nil)
			require.NoError(t, retry(operation, &backoff.ZeroBackOff{}))
			require.Equal(t, 3, *calls)

			operation, calls = results(err)
			require.Equal(t, err, retry(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2)))
			require.Equal(t, 3, *calls)
			require.ErrorIs(t, retry(operation, backoff.WithContext(&backoff.ZeroBackOff{}, cancelled())), err)
		})
	}
}

// asAsking becomes a RetryAfterError when errors.As asks for one.
type asAsking struct{ d time.Duration }

func (asAsking) Error() string { return "asking by As" }

func (a asAsking) As(target any) bool {
	p, ok := target.(**backoff.RetryAfterError)
	if ok {
		*p = &backoff.RetryAfterError{Duration: a.d}
	}
	return ok
}

// The error of a loop that its context ended is on one line and repeats nothing.
func TestContextErrorText(t *testing.T) {
	plain := cancelledFor(nil)
	for _, test := range []struct {
		ctx  context.Context
		last error
		want string
	}{
		{cancelled(), errFailed, "context canceled: shutting down: failed"},
		{cancelled(), errors.Join(errFailed, io.EOF), "context canceled: shutting down: failed; EOF"},
		{cancelled(), context.Canceled, "context canceled: shutting down"},
		{cancelled(), errCause, "context canceled: shutting down"},
		{cancelled(), errors.New("context canceled"), "context canceled: shutting down"},
		{cancelled(), errors.New("shut"), "context canceled: shutting down: shut"},
		{cancelled(), errors.New("down"), "context canceled: shutting down: down"},
		{cancelled(), errors.New("get: too bad"), "context canceled: shutting down: get: too bad"},
		{plain, errFailed, "context canceled: failed"},
		{plain, errors.New("context canceled by the server"), "context canceled: context canceled by the server"},
	} {
		eachLoop(t, func(t *testing.T, retry retry) {
			err := retry(func() error { return test.last }, backoff.WithContext(&backoff.ZeroBackOff{}, test.ctx))
			require.EqualError(t, err, test.want)
			require.ErrorIs(t, err, test.last)
		})
	}
}

// What nested loops that end for the same reason return does not repeat it.
func TestContextErrorNested(t *testing.T) {
	const contextText = "context canceled: shutting down: failed"
	for name, test := range map[string]struct {
		policy backoff.BackOff
		want   string
	}{
		"cause":              {backoff.WithContext(waits(0), cancelled()), contextText},
		"marked cause":       {backoff.WithContext(waits(0), cancelledFor(backoff.Permanent(errCause))), contextText},
		"mark in a cause":    {backoff.WithContext(waits(0), cancelledFor(fmt.Errorf("%w", backoff.Permanent(errCause)))), contextText},
		"uncomparable cause": {backoff.WithContext(waits(0), cancelledFor(uncomparable{[]string{"full"}})), "context canceled: [full]: failed"},
	} {
		inner := func() error { return backoff.Retry(func() error { return errFailed }, test.policy) }
		middle := func() error { return backoff.Retry(inner, test.policy) }
		require.EqualError(t, backoff.Retry(middle, test.policy), test.want, name)
	}

	inner := func() error { return unpaid(func() error { return errFailed }, nil) }
	middle := func() error { return unpaid(inner, nil) }
	require.EqualError(t, unpaid(middle, nil), "retry budget exhausted: failed")
}

// To look through nested loops that get the error of the loop below twice, from two attempts or from one and the
// cause of the context, costs no more for each of them.
func TestContextErrorDepth(t *testing.T) {
	for name, outcomes := range map[string]func(below error) (first, second, cause error){
		"both attempts":            func(below error) (first, second, cause error) { return below, below, errCause },
		"first attempt and cause":  func(below error) (first, second, cause error) { return below, errFailed, below },
		"second attempt and cause": func(below error) (first, second, cause error) { return errFailed, below, below },
	} {
		t.Run(name, func(t *testing.T) {
			visits := 0
			err := error(&visitor{errFailed, &visits})
			for range 18 {
				first, second, cause := outcomes(err)
				ctx, cancel := context.WithCancelCause(context.Background())
				calls := 0
				err = backoff.Retry(func() error {
					calls++
					if calls == 1 {
						return first
					}
					cancel(cause)
					return second
				}, backoff.WithContext(&backoff.ZeroBackOff{}, ctx))
			}
			visits = 0
			require.NotErrorIs(t, err, io.EOF)
			require.ErrorIs(t, err, errFailed)
			require.ErrorIs(t, err, context.Canceled)
			require.LessOrEqual(t, visits, 20)
			require.False(t, errors.As(err, new(*code)))
		})
	}
}

// Nested loops on contexts that differ in Err or cause keep both.
func TestContextErrorTwo(t *testing.T) {
	late, cancel := context.WithTimeoutCause(context.Background(), 0, errCause)
	defer cancel()
	for _, outer := range []context.Context{late, cancelledFor(io.EOF)} {
		eachLoop(t, func(t *testing.T, retry retry) {
			err := retry(func() error {
				return retry(func() error { return errFailed }, backoff.WithContext(waits(0), cancelled()))
			}, backoff.WithContext(waits(0), outer))
			for _, want := range []error{outer.Err(), context.Cause(outer), context.Canceled, errCause, errFailed} {
				require.ErrorIs(t, err, want)
			}
		})
	}
}

// The last error is found by its type also where that is no pointer or struct.
func TestContextErrorNumber(t *testing.T) {
	var number syscall.Errno
	require.ErrorAs(t, backoff.Retry(func() error { return syscall.EAGAIN }, backoff.WithContext(waits(0), cancelled())), &number)
	require.Equal(t, syscall.EAGAIN, number)
}

// grpc is an error with a method by which callers find out what kind of error it is.
type grpc struct{ status string }

func (g *grpc) Error() string      { return g.status }
func (g *grpc) GRPCStatus() string { return g.status }
func (g *grpc) Timeout() bool      { return true }
func (g *grpc) Temporary() bool    { return true }

// The error of a loop that its context ended does not pass for the last error, nor for the one before, which it
// matches. That of a loop that its policy or a budget ended does.
func TestErrorKind(t *testing.T) {
	last := &grpc{"unavailable"}
	operation := func() error { return fmt.Errorf("call: %w", backoff.RetryAfter(last, 1)) }
	ctx, cancel := context.WithCancel(context.Background())
	cut := func(backoff.Operation, backoff.BackOff) error {
		calls := 0
		return backoff.Retry(func() error {
			calls++
			if calls == 2 {
				cancel()
				return errFailed
			}
			return operation()
		}, backoff.WithContext(&backoff.ZeroBackOff{}, ctx))
	}
	for name, test := range map[string]struct {
		retry  retry
		policy backoff.BackOff
		passes bool
	}{
		"context":                {backoff.Retry, backoff.WithContext(&backoff.ZeroBackOff{}, cancelled()), false},
		"context, Attempts":      {attempt, backoff.WithContext(&backoff.ZeroBackOff{}, cancelled()), false},
		"context in the attempt": {cut, nil, false},
		"policy":                 {backoff.Retry, waits(), true},
		"policy, Attempts":       {attempt, waits(), true},
		"budget":                 {unpaid, nil, true},
		"no retries left":        {exhausted, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("outer: %w", test.retry(operation, test.policy))
			require.ErrorIs(t, err, last)
			var concrete *grpc
			require.ErrorAs(t, err, &concrete)
			require.Same(t, last, concrete)
			require.ErrorAs(t, err, new(*backoff.RetryAfterError))

			var status interface{ GRPCStatus() string }
			require.Equal(t, test.passes, errors.As(err, &status))
			var netErr net.Error
			require.Equal(t, test.passes, errors.As(err, &netErr) && netErr.Timeout())
			found := false
			walk(err, func(err error) { found = found || err == error(last) })
			require.Equal(t, test.passes, found, "by Unwrap")
		})
	}
}

// A refusal answers Timeout and Temporary as the last error does.
func TestStopErrorTimeout(t *testing.T) {
	for _, last := range []error{os.ErrDeadlineExceeded, &url.Error{Op: "Get", Err: context.DeadlineExceeded}, &net.DNSError{}, errFailed} {
		for _, retry := range []retry{unpaid, exhausted} {
			err := retry(func() error { return last }, nil)
			require.NotEqual(t, last, err)
			require.Equal(t, os.IsTimeout(last), os.IsTimeout(err))
			require.Equal(t, os.IsTimeout(last), (&url.Error{Err: err}).Timeout())
			require.Equal(t, os.IsTimeout(last), (&url.Error{Err: err}).Temporary())
			var netErr net.Error
			require.Equal(t, last != errFailed, errors.As(err, &netErr), "it is no net.Error if the last one is none")
		}
	}
}

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
