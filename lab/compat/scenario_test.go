package compat_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"

	"example.com/backoff"
)

// A script is where the parts of a scenario are drawn from. Past its end all draws are 0, so that
// the fuzzer finds short ones.
type script []byte

func (s *script) below(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n
}

func (s *script) chance(oneIn int) bool { return s.below(oneIn) == oneIn-1 }

func pick[T any](s *script, from ...T) T { return from[s.below(len(from))] }

func (s *script) wait() time.Duration {
	return pick(s, 0, time.Millisecond, 2*time.Millisecond, 7*time.Millisecond, 50*time.Millisecond, time.Second, time.Hour)
}

// A scenario is one run of a loop: its policy, its decorators, what its operation does, and how it is
// called. It says the same to both libraries.
type scenario struct {
	policy     policySpec
	decorators []decorator // the innermost first
	attempts   []attempt   // what the calls do; the one after the last succeeds
	timer      timerKind
	timerEnds  int  // a muted timer has no channel from this Start on, counted from 1
	notify     bool // whether the caller asks for notifications
	canceler   int  // the notification that cancels the contexts; 0 for none
}

type timerKind int

const (
	noTimer        timerKind = iota
	realTimer                // keeps to the time
	immediateTimer           // does not wait
	mutedTimer               // immediate, and then without a channel
)

// An attempt is what one call of the operation does. For a Ticker it is what the receiver does.
type attempt struct {
	takes   time.Duration
	fails   failure
	cancels bool // all contexts
	resets  bool // the policy of its own loop
}

type failure int

const (
	plain failure = iota
	wrapped
	canceled        // context.Canceled itself
	permanent       // Permanent(err)
	permanentTwice  // Permanent(Permanent(err))
	permanentBelow  // wrapped by %w
	permanentJoined // by errors.Join
	permanentNil    // &PermanentError{}
	failures
)

func newScenario(s *script) scenario {
	sc := scenario{
		policy:    newPolicySpec(s),
		timer:     pick(s, noTimer, noTimer, noTimer, realTimer, immediateTimer, mutedTimer),
		timerEnds: 1 + s.below(4),
		notify:    s.chance(2),
	}
	if sc.policy.kind == nilPolicy {
		sc.timer = immediateTimer // the default policy's waits are random
	}
	if s.chance(8) {
		sc.canceler = 1 + s.below(4)
	}
	for range s.below(4) {
		d := decorator{kind: pick(s, decorateContext, decorateContext, decorateRetries, decorateTransparent, decorateOpaque)}
		switch d.kind {
		case decorateRetries:
			d.retries = uint64(s.below(8))
		case decorateContext:
			d.context = contextSpec{
				kind:  pick(s, deadline, canceledLater, deadline, never, canceledBefore),
				after: s.wait() + time.Duration(s.below(64))*time.Millisecond + 333_337, // no wait ends then
				cause: s.chance(2),
			}
		}
		sc.policy.hidden = sc.policy.hidden || d.kind == decorateOpaque
		sc.decorators = append(sc.decorators, d)
	}
	for range s.below(12) {
		a := attempt{cancels: s.chance(16), resets: s.chance(16)}
		if sc.policy.kind == nilPolicy && len(sc.decorators) == 0 {
			a.resets = false // there is nothing to call it on
		}
		if s.chance(4) {
			a.takes = s.wait()
		}
		if s.chance(8) {
			a.fails = failure(s.below(int(failures)))
		}
		sc.attempts = append(sc.attempts, a)
	}
	return sc
}

// error returns what the n-th call fails with, in the words of a library. Errors without a mark are
// the same values for both.
func (l library) error(f failure, base error) error {
	switch f {
	case wrapped:
		return &wrapper{base}
	case canceled:
		return context.Canceled
	case permanent:
		return l.permanent(base)
	case permanentTwice:
		return l.permanent(l.permanent(base))
	case permanentBelow:
		return fmt.Errorf("outer: %w", l.permanent(base))
	case permanentJoined:
		return errors.Join(errBeside, l.permanent(base))
	case permanentNil:
		return l.emptyPermanent
	}
	return base
}

var errBeside = errors.New("beside")

type wrapper struct{ err error }

func (w *wrapper) Error() string { return "wrapper: " + w.err.Error() }
func (w *wrapper) Unwrap() error { return w.err }

// Contexts.

type contextKind int

const (
	never contextKind = iota // may be cancelled, but only by attempts and notifications
	canceledBefore
	canceledLater
	deadline
)

type contextSpec struct {
	kind  contextKind
	after time.Duration
	cause bool
}

var errCause = errors.New("cause")

// start returns the context and what cancels it.
func (c contextSpec) start() (context.Context, context.CancelFunc) {
	cause := error(nil)
	if c.cause {
		cause = errCause
	}
	parent, cancel := context.WithCancelCause(context.Background())
	cancelIt := func() { cancel(cause) }
	switch c.kind {
	case canceledBefore:
		cancelIt()
	case canceledLater:
		time.AfterFunc(c.after, cancelIt)
	case deadline:
		ctx, release := context.WithDeadlineCause(parent, time.Now().Add(c.after), cause)
		context.AfterFunc(parent, release)
		return ctx, cancelIt
	}
	return parent, cancelIt
}

// Decorators.

type decoratorKind int

const (
	decorateContext     decoratorKind = iota
	decorateRetries                   // WithMaxRetries
	decorateTransparent               // a user's with Unwrap
	decorateOpaque                    // a user's, without
)

type decorator struct {
	kind    decoratorKind
	context contextSpec
	retries uint64
}

// visible returns the index of the decorator with the context that a loop waits on: the outermost that no
// decorator hides. It is -1 if there is none.
func (sc scenario) visible() int {
	for i := len(sc.decorators) - 1; i >= 0; i-- {
		switch sc.decorators[i].kind {
		case decorateContext:
			return i
		case decorateOpaque:
			return -1
		}
	}
	return -1
}

type opaque struct{ inner resettable }

// over returns what a user's decorator wraps, which is not nil.
func over(b resettable) opaque {
	if b == nil {
		b = backoff.NewExponentialBackOff()
	}
	return opaque{b}
}

func (d *opaque) NextBackOff() time.Duration { return d.inner.NextBackOff() }
func (d *opaque) Reset()                     { d.inner.Reset() }

type transparent struct{ opaque }

func (d *transparent) Unwrap() backoff.BackOff { return d.inner }

// Policies.

// resettable is the BackOff of both libraries.
type resettable interface {
	NextBackOff() time.Duration
	Reset()
}

type policyKind int

const (
	zeroPolicy policyKind = iota
	stopPolicy
	constantPolicy
	listedPolicy // a user's
	exponentialPolicy
	exponentialLiteral
	nilPolicy
)

type policySpec struct {
	kind   policyKind
	waits  []time.Duration // a listed one's, or one for a constant
	ends   int             // the wait of a listed one during which all contexts are cancelled; 0 for none
	fields backoff.ExponentialBackOff
	clock  clockKind

	// hidden says that a decorator without Unwrap asks the policy, and not the loop.
	hidden bool

	// changed is the InitialInterval from the first call of the operation on; 0 leaves it.
	changed time.Duration
}

type clockKind int

const (
	nilClock clockKind = iota
	systemClock
	shiftedClock
)

func newPolicySpec(s *script) policySpec {
	p := policySpec{kind: pick(s, exponentialPolicy, exponentialLiteral, listedPolicy, listedPolicy, constantPolicy, zeroPolicy, stopPolicy, nilPolicy)}
	odd := func() time.Duration { return pick(s, -1, -5, -time.Hour) }
	switch p.kind {
	case constantPolicy:
		p.waits = []time.Duration{s.wait()}
		if s.chance(8) {
			p.waits[0] = odd()
		}
	case listedPolicy:
		for range s.below(10) {
			wait := s.wait()
			if s.chance(16) {
				wait = odd()
			}
			p.waits = append(p.waits, wait)
		}
		if s.chance(4) {
			p.ends = 1 + s.below(4)
		}
	case exponentialPolicy, exponentialLiteral:
		p.fields = backoff.ExponentialBackOff{
			InitialInterval: pick(s, time.Millisecond, 3*time.Millisecond, 500*time.Millisecond, 0, -time.Second),
			Multiplier:      pick(s, 1.5, 2, 3.7, 1, 0.5, 0, -1, math.NaN()),
			MaxInterval:     pick(s, time.Second, 10*time.Millisecond, time.Millisecond, 0, -time.Second),
			MaxElapsedTime:  pick(s, 0, 15*time.Millisecond, 200*time.Millisecond, 15*time.Minute, -1),
			Stop:            pick(s, backoff.Stop, 7*time.Millisecond, 0, -5),
		}
		p.clock = pick(s, systemClock, nilClock, shiftedClock)
		if s.chance(8) {
			p.changed = 5 * time.Millisecond
		}
	}
	return p
}

// buildOurs returns the policy as this library has it.
func (p policySpec) buildOurs(cancel func()) resettable {
	switch p.kind {
	case zeroPolicy:
		return &backoff.ZeroBackOff{}
	case stopPolicy:
		return &backoff.StopBackOff{}
	case constantPolicy:
		return backoff.NewConstantBackOff(p.waits[0])
	case listedPolicy:
		return &listed{waits: p.waits, ends: p.ends, cancel: cancel}
	case nilPolicy:
		return nil
	}
	b := p.fields
	switch p.clock {
	case systemClock:
		b.Clock = backoff.SystemClock
	case shiftedClock:
		b.Clock = shifted{}
	}
	if p.kind == exponentialLiteral {
		return &b
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(b.InitialInterval), backoff.WithRandomizationFactor(0),
		backoff.WithMultiplier(b.Multiplier), backoff.WithMaxInterval(b.MaxInterval),
		backoff.WithMaxElapsedTime(b.MaxElapsedTime), backoff.WithRetryStopDuration(b.Stop),
		backoff.WithClockProvider(b.Clock))
}

// build4 returns the policy as cenkalti/backoff v4 has it. Values that v4 cannot handle are
// replaced by those that they mean to this library.
func (p policySpec) build4(cancel func(), used func(rule)) resettable {
	switch p.kind {
	case zeroPolicy:
		return &cenkalti4.ZeroBackOff{}
	case stopPolicy:
		return &cenkalti4.StopBackOff{}
	case constantPolicy:
		return cenkalti4.NewConstantBackOff(orStop(p.waits[0], used))
	case listedPolicy:
		waits := make([]time.Duration, len(p.waits))
		for i, wait := range p.waits {
			waits[i] = orStop(wait, used)
		}
		return &listed{waits: waits, ends: p.ends, cancel: cancel}
	case nilPolicy:
		used(ruleNilPolicy)
		return cenkalti4.NewExponentialBackOff()
	}
	replace := func(d *time.Duration, by time.Duration) {
		used(ruleFields)
		*d = by
	}
	b := p.fields
	if p.changed != 0 {
		used(ruleChanged)
		b.InitialInterval = p.changed
	}
	if b.InitialInterval < 0 || b.InitialInterval == 0 && p.clock == nilClock {
		replace(&b.InitialInterval, backoff.DefaultInitialInterval)
	}
	if b.MaxInterval <= 0 {
		replace(&b.MaxInterval, backoff.DefaultMaxInterval)
	}
	if b.InitialInterval > b.MaxInterval {
		replace(&b.InitialInterval, b.MaxInterval)
	}
	switch {
	case b.Stop == 0 && p.clock != nilClock && p.hidden:
		// A decorator asks by hand then, and gets 0 from both.
	case b.Stop <= 0 && b.Stop != cenkalti4.Stop:
		replace(&b.Stop, cenkalti4.Stop)
	}
	switch {
	case b.Multiplier == 0 || math.IsNaN(b.Multiplier):
		used(ruleFields)
		b.Multiplier = backoff.DefaultMultiplier
	case b.Multiplier < 1:
		used(ruleFields)
		b.Multiplier = 1
	}
	var clock cenkalti4.Clock = cenkalti4.SystemClock
	switch p.clock {
	case nilClock:
		used(ruleFields)
	case shiftedClock:
		clock = shifted{}
	}
	return cenkalti4.NewExponentialBackOff(
		cenkalti4.WithInitialInterval(b.InitialInterval), cenkalti4.WithRandomizationFactor(0),
		cenkalti4.WithMultiplier(b.Multiplier), cenkalti4.WithMaxInterval(b.MaxInterval),
		cenkalti4.WithMaxElapsedTime(b.MaxElapsedTime), cenkalti4.WithRetryStopDuration(b.Stop),
		cenkalti4.WithClockProvider(clock))
}

// orStop returns wait, or Stop for any negative one.
func orStop(wait time.Duration, used func(rule)) time.Duration {
	if wait < 0 && wait != cenkalti4.Stop {
		used(ruleNegative)
		return cenkalti4.Stop
	}
	return wait
}

type shifted struct{}

func (shifted) Now() time.Time { return time.Now().AddDate(-100, 0, 0).Round(0) }

// listed is a user's policy.
type listed struct {
	waits  []time.Duration
	ends   int
	cancel func()
	calls  int
}

func (l *listed) Reset() { l.calls = 0 }

func (l *listed) NextBackOff() time.Duration {
	l.calls++
	if l.calls == l.ends {
		l.cancel()
	}
	if l.calls > len(l.waits) {
		return backoff.Stop
	}
	return l.waits[l.calls-1]
}
