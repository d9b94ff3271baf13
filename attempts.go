package backoff

import "iter"

// Attempts returns the retry loop as an iterator, for operations that are clearer without a
// callback. The numbers are those of the attempts, from 1:
//
//	var err error
//	for range backoff.Attempts(backoff.WithContext(policy, ctx)) {
//		if err = operation(); err == nil {
//			break
//		}
//	}
//
// It resets b and yields 1 at once and in any case. Then, as long as b goes on and its context is
// not done, it waits and yields the next number. Its waits are those of [Retry]: one that could not
// end before the context's deadline ends the iteration at once. A break leaves nothing running, and
// ranging again starts afresh.
//
// Attempts does not know how an attempt ended. It is for the loop's body to break after a success
// or an error that is permanent, to pay the success into a [Budget], and to remember the last
// error.
//
// A nil b means [NewExponentialBackOff]. The iterator holds the state of one loop at a time.
func Attempts(b BackOff) iter.Seq[int] {
	return func(yield func(int) bool) { attempt(b, yield) }
}

// attempt is a function of its own so that Attempts is small enough to be inlined, and a range over
// it needs no heap.
func attempt(b BackOff, yield func(int) bool) {
	b = orDefault(b)
	b.Reset()
	l := loop{policy: b}
	for n := 1; yield(n); n++ {
		if wait, ok := l.next(0); !ok || !l.wait(wait) {
			return
		}
	}
}
