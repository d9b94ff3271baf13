package backoff

// BackOffObserver is a policy that receives the outcome of each attempt, before it is asked for the
// next wait. A [Ticker] does not know the outcome, so it does not call Observe. An observer is found
// below decorators that have a method Unwrap() BackOff; they must not forward Observe.
type BackOffObserver interface {
	BackOff

	// Observe is called once after each attempt that returns, with its error; nil means success.
	// Calls are never concurrent.
	Observe(err error)
}

// observe passes the outcome of an attempt to every observer in b.
func observe(b BackOff, err error) {
	for p := range chain(b) {
		if o, ok := p.(BackOffObserver); ok {
			o.Observe(err)
		}
	}
}
