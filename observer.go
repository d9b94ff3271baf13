package backoff

import (
	"context"
	"time"
)

// BackOffObserver is a policy that is told the outcome of each attempt, before it is asked for the
// next wait. [Retry] and its variants and [Attempts] tell it; a [Ticker] does not know how an
// attempt ended.
//
// An observer is found below decorators that have a method Unwrap() BackOff. Such a decorator must
// not forward Observe, or it is called twice.
type BackOffObserver interface {
	BackOff

	// Observe is called once after each attempt with its error; nil means success. Calls are
	// never concurrent.
	Observe(err error)
}

// participant is a policy of this package that takes part in a loop's decision to retry.
type participant interface {
	// prepare is called after a failed attempt, before NextBackOff. The loop waits for at least
	// floor; a policy that knows it can spread clients above it.
	prepare(floor time.Duration)

	// abandon is called if the retry is not made after all. It returns the reason if it was this
	// policy that stopped and has a reason to give, otherwise nil.
	abandon() error
}

// maxChain is how many policies are looked at from the outermost decorator inwards. A decorator whose
// Unwrap leads back to itself cannot hang a loop.
const maxChain = 1000

// plain reports whether b is a policy of this package that wraps nothing and does not take part in
// decisions. To ask it first is much cheaper than to look for methods that are not there.
func plain(b BackOff) bool {
	switch b.(type) {
	case *ConstantBackOff, *LinearBackOff, *ZeroBackOff, *StopBackOff:
		return true
	}
	return false
}

// unwrap returns what the decorator b wraps, or nil if b is not a decorator.
func unwrap(b BackOff) BackOff {
	if d, ok := b.(interface{ Unwrap() BackOff }); ok {
		return d.Unwrap()
	}
	return nil
}

// observe tells every observer in b how an attempt ended.
func observe(b BackOff, err error) {
	if !plain(b) {
		observeChain(b, err)
	}
}

// observeChain asks for this package's own types before it looks for methods.
func observeChain(b BackOff, err error) {
	for n := 0; b != nil && n < maxChain; n++ {
		switch d := b.(type) {
		case *ExponentialBackOff:
			return
		case *contextBackOff:
			b = d.BackOff
			continue
		case *triesBackOff:
			b = d.BackOff
			continue
		case BackOffObserver:
			d.Observe(err)
		}
		b = unwrap(b)
	}
}

// prepare tells every participant in b that a decision begins. It returns ctx or, if that is nil, the
// outermost context in b, or nil if there is none.
func prepare(b BackOff, floor time.Duration, ctx context.Context) context.Context {
	for n := 0; b != nil && !plain(b) && n < maxChain; n++ {
		switch d := b.(type) {
		case *triesBackOff:
			b = d.BackOff
			continue
		case *contextBackOff:
			if ctx == nil {
				ctx = d.ctx
			}
			b = d.BackOff
			continue
		case BackOffContext:
			if ctx == nil {
				ctx = d.Context()
			}
			if ctx == nil {
				ctx = context.Background()
			}
		}
		if p, ok := b.(participant); ok {
			p.prepare(floor)
		}
		b = unwrap(b)
	}
	return ctx
}

// abandon tells every participant in b that the retry is not made. It returns the innermost reason
// for it.
func abandon(b BackOff) (reason error) {
	for n := 0; b != nil && n < maxChain; n++ {
		if p, ok := b.(participant); ok {
			if err := p.abandon(); err != nil {
				reason = err
			}
		}
		b = unwrap(b)
	}
	return reason
}
