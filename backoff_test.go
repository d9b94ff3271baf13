package backoff

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errFailed = errors.New("failed")

// failing returns an operation that fails n times with errFailed, for ever if n is negative, and
// the count of its calls.
func failing(n int) (Operation, *int) {
	calls := new(int)
	return func() error {
		*calls++
		if n >= 0 && *calls > n {
			return nil
		}
		return errFailed
	}, calls
}

// waits returns a policy that gives out the waits one after the other and then stops.
func waits(ds ...time.Duration) *scripted { return &scripted{waits: ds} }

type scripted struct {
	waits  []time.Duration
	next   int
	resets int
}

func (s *scripted) Reset() { s.next, s.resets = 0, s.resets+1 }

func (s *scripted) NextBackOff() time.Duration {
	if s.next >= len(s.waits) {
		return Stop
	}
	s.next++
	return s.waits[s.next-1]
}

// foreign is a decorator as a user would write it; opaque is one without Unwrap.
type (
	foreign struct{ BackOff }
	opaque  struct{ BackOff }
)

func (f foreign) Unwrap() BackOff { return f.BackOff }

func TestSimplePoliciesWait(t *testing.T) {
	for name, test := range map[string]struct {
		policy BackOff
		want   time.Duration
	}{
		"zero":              {&ZeroBackOff{}, 0},
		"stop":              {&StopBackOff{}, Stop},
		"constant":          {NewConstantBackOff(time.Second), time.Second},
		"constant zero":     {&ConstantBackOff{}, 0},
		"constant negative": {NewConstantBackOff(-time.Second), -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				test.policy.Reset()
				require.Equal(t, test.want, test.policy.NextBackOff())
				require.Equal(t, test.want, test.policy.NextBackOff())
			}
		})
	}
}

func TestAnyNegativeWaitStops(t *testing.T) {
	for _, wait := range []time.Duration{Stop, -2, -time.Hour, -1 << 63} {
		operation, calls := failing(-1)
		require.Same(t, errFailed, Retry(operation, NewConstantBackOff(wait)))
		require.Equal(t, 1, *calls)
	}
}

func TestNilPolicyIsTheDefaultOne(t *testing.T) {
	operation, calls := failing(0)
	require.NoError(t, Retry(operation, nil))
	require.Equal(t, 1, *calls)

	for name, policy := range map[string]BackOff{
		"WithMaxRetries": WithMaxRetries(nil, 1),
		"WithContext":    WithContext(nil, context.Background()),
	} {
		wait := policy.NextBackOff()
		require.GreaterOrEqual(t, wait, DefaultInitialInterval/2, name)
		require.LessOrEqual(t, wait, DefaultInitialInterval*3/2, name)
	}
}

// instantTimer is a Timer whose waits are over at once, and which counts its calls.
type instantTimer struct {
	started []time.Duration
	stops   int
}

func (i *instantTimer) Start(d time.Duration) { i.started = append(i.started, d) }

func (i *instantTimer) Stop() { i.stops++ }

func (i *instantTimer) C() <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

// deafTimer is a Timer that has no channel.
type deafTimer struct{ instantTimer }

func (*deafTimer) C() <-chan time.Time { return nil }

// brokenTimer is a Timer whose waits never end.
type brokenTimer struct{ instantTimer }

func (*brokenTimer) C() <-chan time.Time { return make(chan time.Time) }

func TestLinearBackOff(t *testing.T) {
	const s, most = time.Second, time.Duration(math.MaxInt64)
	for name, test := range map[string]struct {
		policy *LinearBackOff
		want   []time.Duration
	}{
		"uncapped":         {NewLinearBackOff(s), []time.Duration{s, 2 * s, 3 * s, 4 * s}},
		"capped":           {&LinearBackOff{Interval: 2 * s, MaxInterval: 5 * s}, []time.Duration{2 * s, 4 * s, 5 * s, 5 * s}},
		"capped at first":  {&LinearBackOff{Interval: 2 * s, MaxInterval: s}, []time.Duration{s, s}},
		"cap negative":     {&LinearBackOff{Interval: s, MaxInterval: -s}, []time.Duration{s, 2 * s}},
		"zero value":       {&LinearBackOff{}, []time.Duration{0, 0, 0}},
		"negative":         {NewLinearBackOff(-s), []time.Duration{Stop, Stop}},
		"most negative":    {NewLinearBackOff(-most - 1), []time.Duration{Stop, Stop}},
		"saturating":       {NewLinearBackOff(most/2 + 1), []time.Duration{most/2 + 1, most, most}},
		"saturated":        {NewLinearBackOff(most), []time.Duration{most, most}},
		"up to the brim":   {&LinearBackOff{Interval: most / 2, MaxInterval: most - 1}, []time.Duration{most / 2, most - 1, most - 1}},
		"exactly at a cap": {&LinearBackOff{Interval: s, MaxInterval: 2 * s}, []time.Duration{s, 2 * s, 2 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				require.Equal(t, test.want, draws(test.policy, len(test.want)))
				test.policy.Reset()
			}
		})
	}
}
