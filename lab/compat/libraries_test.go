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

// A library is one of the two, in terms of the types that both have.
type library struct {
	name           string
	policy         func(p policySpec, cancel func(), use func(rule)) resettable
	withContext    func(resettable, context.Context) resettable
	withMaxRetries func(resettable, uint64) resettable
	transparent    func(resettable, func(rule)) resettable
	permanent      func(error) error
	emptyPermanent error
	retry          func(func() (int, error), resettable, func(error, time.Duration), timer) (int, error)
	ticker         func(resettable, timer) (c <-chan time.Time, stop func())
	alwaysNotify   bool // for what the rules learn from it
}

// timer is the Timer of both libraries.
type timer interface {
	Start(time.Duration)
	Stop()
	C() <-chan time.Time
}

var own = library{
	name:   "this library",
	policy: func(p policySpec, cancel func(), _ func(rule)) resettable { return p.buildOurs(cancel) },
	withContext: func(b resettable, ctx context.Context) resettable {
		return backoff.WithContext(b, ctx)
	},
	withMaxRetries: func(b resettable, n uint64) resettable { return backoff.WithMaxRetries(b, n) },
	transparent:    func(b resettable, _ func(rule)) resettable { return &transparent{over(b)} },
	permanent:      backoff.Permanent,
	emptyPermanent: &backoff.PermanentError{},
	retry: func(op func() (int, error), b resettable, notify func(error, time.Duration), t timer) (int, error) {
		return backoff.RetryNotifyWithTimerAndData(op, b, notify, t)
	},
	ticker: func(b resettable, t timer) (<-chan time.Time, func()) {
		ticker := backoff.NewTickerWithTimer(b, t)
		return ticker.C, ticker.Stop
	},
}

// ownAttempts is this library's Attempts, which has neither a notify nor a Timer.
var ownAttempts = func() library {
	l := own
	l.name = "this library's Attempts"
	l.retry = func(op func() (int, error), b resettable, _ func(error, time.Duration), _ timer) (value int, err error) {
		for range backoff.Attempts(b, &err) {
			value, err = op()
		}
		return value, err
	}
	return l
}()

var v4 = library{
	name:   "v4",
	policy: policySpec.build4,
	withContext: func(b resettable, ctx context.Context) resettable {
		return cenkalti4.WithContext(b, ctx)
	},
	withMaxRetries: func(b resettable, n uint64) resettable { return cenkalti4.WithMaxRetries(b, n) },
	transparent: func(b resettable, use func(rule)) resettable {
		use(ruleUnwrap)
		return cenkalti4.WithMaxRetries(b, math.MaxUint64) // the only one that v4 looks through
	},
	permanent:      cenkalti4.Permanent,
	emptyPermanent: emptyMark{&cenkalti4.PermanentError{}},
	retry: func(op func() (int, error), b resettable, notify func(error, time.Duration), t timer) (int, error) {
		return cenkalti4.RetryNotifyWithTimerAndData(op, b, notify, t)
	},
	ticker: func(b resettable, t timer) (<-chan time.Time, func()) {
		ticker := cenkalti4.NewTickerWithTimer(b, t)
		return ticker.C, ticker.Stop
	},
	alwaysNotify: true,
}

// emptyMark spares v4 the panic of an empty PermanentError's Error.
type emptyMark struct{ *cenkalti4.PermanentError }

func (emptyMark) Error() string   { return "permanent error" }
func (e emptyMark) Unwrap() error { return e.PermanentError }

// bases are the errors that the calls fail with, the same values for both libraries.
var bases = func() []error {
	all := make([]error, 16)
	for i := range all {
		all[i] = fmt.Errorf("call %d failed", i+1)
	}
	return all
}()

func (l library) run(sc scenario, use func(rule)) (tr trace) {
	began := time.Now()
	var cancels []context.CancelFunc
	cancelAll := func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
	defer cancelAll()
	base := l.policy(sc.policy, cancelAll, use)
	b, visible := l.decorate(base, sc, &cancels, use)
	calls, notified := 0, 0
	record := func(kind eventKind, wait time.Duration) {
		if sc.policy.kind == nilPolicy {
			wait = 0
		}
		tr.events = append(tr.events, event{kind, time.Since(began), calls, wait, visible.Err() != nil})
	}
	op := func() (int, error) {
		calls++
		record(call, 0)
		tr.before, tr.last, tr.cut = tr.last, nil, false
		if exp, ok := base.(*backoff.ExponentialBackOff); ok && sc.policy.changed != 0 && calls == 1 {
			exp.InitialInterval = sc.policy.changed
		}
		if calls > len(sc.attempts) {
			return calls, nil
		}
		a := sc.attempts[calls-1]
		time.Sleep(a.takes)
		if a.cancels {
			cancelAll()
		}
		if a.resets {
			b.Reset()
		}
		tr.fails, tr.last = a.fails, l.error(a.fails, bases[calls-1])
		tr.cut = visible.Err() != nil
		return calls, tr.last
	}
	var onNotify func(error, time.Duration)
	if sc.notify || l.alwaysNotify {
		onNotify = func(err error, wait time.Duration) {
			record(notify, wait)
			if err != tr.last {
				panic("notified of another error than the last")
			}
			if notified++; sc.notify && notified == sc.canceler {
				cancelAll()
			}
		}
	}
	t := newTimer(sc, func(d time.Duration) { record(start, d) }, l.alwaysNotify)
	func() {
		defer func() {
			if r := recover(); r == errNoChannel {
				tr.value, tr.err = calls, errNoChannel
			} else if r != nil {
				panic(r)
			}
		}()
		tr.value, tr.err = l.retry(op, b, onNotify, t)
	}()
	tr.end, tr.ctx = time.Since(began), visible.Err()
	if tr.ctx != nil {
		tr.cause = context.Cause(visible)
	}
	return tr
}

// decorate returns b with the scenario's decorators, and the context that a loop must wait on.
func (l library) decorate(b resettable, sc scenario, cancels *[]context.CancelFunc, use func(rule)) (resettable, context.Context) {
	visible := context.Background()
	for i, d := range sc.decorators {
		switch d.kind {
		case decorateContext:
			ctx, cancel := d.context.start()
			*cancels = append(*cancels, cancel)
			b = l.withContext(b, ctx)
			if i == sc.visible() {
				visible = ctx
			}
		case decorateRetries:
			b = l.withMaxRetries(b, d.retries)
		case decorateTransparent:
			b = l.transparent(b, use)
		case decorateOpaque:
			o := over(b)
			b = &o
		}
	}
	return b, visible
}

// Timers.

// errNoChannel is what v4 panics with where it would wait forever for a nil channel.
var errNoChannel = errors.New("no channel")

type fakeTimer struct {
	kind    timerKind
	ends    int
	started func(time.Duration)
	panics  bool
	starts  int
	timer   *time.Timer
	c       chan time.Time
}

func newTimer(sc scenario, started func(time.Duration), panics bool) timer {
	if sc.timer == noTimer {
		return nil
	}
	return &fakeTimer{kind: sc.timer, ends: sc.timerEnds, started: started, panics: panics, c: make(chan time.Time, 1)}
}

func (t *fakeTimer) Start(d time.Duration) {
	t.started(d)
	t.starts++
	if t.kind != realTimer {
		t.c <- time.Now()
		return
	}
	if t.timer == nil {
		t.timer = time.NewTimer(d)
	} else {
		t.timer.Reset(d)
	}
}

func (t *fakeTimer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *fakeTimer) C() <-chan time.Time {
	switch {
	case t.kind == realTimer:
		return t.timer.C
	case t.kind == mutedTimer && t.starts >= t.ends:
		if t.panics {
			panic(errNoChannel)
		}
		return nil
	}
	return t.c
}
