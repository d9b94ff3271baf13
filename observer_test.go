package backoff_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

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
	outer := &unwrapping{listener{BackOff: foreign{inner}}}
	_ = backoff.Retry(func() error { return errFailed }, outer)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, inner.log)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, outer.log)
}

type unwrapping struct{ listener }

func (u *unwrapping) Unwrap() backoff.BackOff { return u.BackOff }

// An observer can adapt its next wait to the outcome.
func TestObserverAdapts(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := results(errFailed, errFailed, io.EOF)
		require.Same(t, io.EOF, retry(operation, &learning{}))
		require.Equal(t, 3, *calls)
	})
}

// learning stops after io.EOF.
type learning struct{ last error }

func (l *learning) Reset()            {}
func (l *learning) Observe(err error) { l.last = err }

func (l *learning) NextBackOff() time.Duration {
	if l.last == io.EOF {
		return backoff.Stop
	}
	return 0
}
