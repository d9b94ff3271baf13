package backoff

import "iter"

// unset is what err holds in the first pass of a range over Attempts until the body sets it.
type unset struct{}

func (unset) Error() string { return "backoff: the body of a range over Attempts has not set err" }

// Attempts returns a sequence for a range loop that does what [Retry] does, without a callback. Each pass makes one
// attempt, and its body stores the outcome in *err:
//
//	func get(ctx context.Context, id string) (u *User, err error) {
//		for range backoff.Attempts(policy(ctx), &err) {
//			u, err = fetch(ctx, id)
//		}
//		return u, err
//	}
//
// The loop ends when the body sets *err to nil, or when it gives up as Retry does; *err is then the error that
// Retry would have returned.
//
// The loop variable counts the attempts from 1, and goes on counting after a Reset of the policy. In later passes,
// *err is the previous attempt's error until the body sets it. So a retry is logged at the top of the body:
//
//	for attempt := range backoff.Attempts(policy(ctx), &err) {
//		if attempt > 1 {
//			slog.Warn("trying again", "attempt", attempt, "err", err)
//		}
//		u, err = fetch(ctx, id)
//	}
//
// The body must set the variable whose address it passed. If it declares a variable of its own, as in
// "u, err := fetch(…)", the loop panics after the first pass rather than take the attempt for a success. Set it with
// "=", and not from its old value: in the first pass *err holds a placeholder until the body sets it, an error whose
// text says that err has not been set.
//
// The body may leave the loop at any time, by break, return or panic. *err stays as the body left it: the
// placeholder, if the body leaves the first pass before it has set *err. So to give up, set
// err = backoff.Permanent(err) and let the pass end: "return backoff.Permanent(err)" returns the mark as well.
//
// A defer in the body runs when the function returns, not when the pass ends.
//
// A nil err panics when the loop starts. Ranging over the result again starts over.
func Attempts(b BackOff, err *error) iter.Seq[int] {
	return func(yield func(int) bool) { attempts(b, err, yield) }
}

// attempts stands apart so that Attempts can be inlined, and a range over it does not allocate.
func attempts(b BackOff, err *error, yield func(int) bool) {
	if err == nil {
		panic("backoff: Attempts called with a nil err")
	}
	b = orDefault(b)
	b.Reset()
	*err = unset{}

	l := loop{policy: b}
	defer l.end()
	for n := 1; yield(n); n++ {
		switch {
		case *err == error(unset{}):
			panic("backoff: the body of a range over Attempts has not set err; does it declare its own err?")
		case *err == nil:
			return
		case n == 1:
			l.ctx = contextOf(b)
		}

		final := l.next(*err)
		if final != nil {
			*err = final
			return
		}
	}
}
