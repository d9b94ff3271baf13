package backoff

import "iter"

// unset is what err holds in the first pass of a range over Attempts until the body sets it.
type unset struct{}

func (unset) Error() string { return "backoff: the body of a range over Attempts has not set err" }

// Attempts is [Retry] as a range statement, for operations that are clearer without a callback. The
// body makes one attempt in each pass and sets *err to its outcome; nil ends the loop:
//
//	func get(ctx context.Context, id string) (u *User, err error) {
//		for range backoff.Attempts(policy(ctx), &err) {
//			u, err = fetch(ctx, id)
//		}
//		return u, err
//	}
//
// Everything that Retry promises holds here too. When the loop gives up, *err is the error that Retry
// would return. The attempts are numbered from 1; the first comes immediately. Ranging again starts over.
// A nil err panics.
//
// The body may leave the loop early, by break, return, goto or panic. *err stays as it is then and
// counts as the attempt's outcome, even if it is that of the attempt before.
//
// A body that does not set *err, perhaps because it declares an err of its own, is not treated as a
// success: the loop panics after the first pass. Until the body sets it, *err is a placeholder. If the body
// leaves the first pass before that, the former value is restored. (Name the result; otherwise such an exit
// may return the placeholder.) In later passes *err is the last attempt's error until it is set.
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
	former := *err
	*err = unset{}
	var l loop
	defer l.end()
	inBody := true
	defer func() {
		if *err == error(unset{}) {
			*err = former
		} else if inBody { // the body has left the loop, which counts as an attempt
			l.policy = b
			observe(b, *err)
		}
	}()
	for n := 1; yield(n); n++ {
		inBody = false
		if *err == error(unset{}) {
			panic("backoff: the body of a range over Attempts has not set err; does it declare its own err?")
		}
		observe(b, *err)
		if *err == nil {
			return
		}
		if n == 1 {
			l.start(b)
		}
		if final := l.next(*err); final != nil {
			*err = final
			return
		}
		inBody = true
	}
}
