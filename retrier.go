package backoff

import (
	"cmp"
	"context"
	"time"
)

// Defaults for the fields of [Retrier].
const (
	defaultAttemptTimeout = 30 * time.Second
	defaultMaxRetries     = 3
)

// Retrier calls a service, and tries again when a call fails. It puts the parts of this package together in the
// order that keeps the service up. Declare one for each service, shared by all calls to it:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: 2 * time.Second,
//		Slots:          backoff.NewSlots(20), // calls in progress, in this process
//	}
//
//	func FetchUser(ctx context.Context, id string) (*User, error) {
//		return backoff.DoWithData(ctx, &users, func(ctx context.Context) (*User, error) {
//			user, err := api.Get(ctx, id)
//			if errors.Is(err, ErrNotFound) {
//				return nil, backoff.Permanent(err)
//			}
//			return user, err
//		})
//	}
//
// A call first acquires a slot, and holds it to its end, waits included, also those that a server asks for. Each
// attempt then has its whole timeout, unless the caller's deadline is closer.
//
// For calls that somebody waits for, set a Budget besides: it ends the retries of calls that fail whatever is
// done, and protects the service where there are too many slots. For work that can wait, set none, and let Policy
// return one without a limit of time. [Slots] says how many slots to make.
//
// A Retrier is plain data, which Do does not change. Copy it to change fields for some calls: a copy shares the
// Slots and the Budget.
//
//	once := users
//	once.MaxRetries = -1 // for a call that must not be made twice
//
// The zero value is ready to use: up to four attempts of up to 30 s each, so a call may take two minutes. A Retrier is
// safe for concurrent use if its functions are, as long as its fields do not change. It calls them in the goroutine
// of the call.
//
// For a connection that is kept, use [Retry] instead, whose operation can call Reset.
type Retrier struct {
	// AttemptTimeout limits each attempt. Zero means 30 s, a negative value no limit. With Slots it
	// must not be zero, since their number depends on it. An attempt that takes longer has failed like any
	// other: it is retried unless Retryable says no.
	AttemptTimeout time.Duration

	// Slots limits the calls in progress. Nil means no limit.
	Slots *Slots

	// MaxRetries limits the retries of a call. A negative value means none. Zero means 3, or as many as
	// the policy allows if Policy returns one.
	MaxRetries int

	// Policy returns a new policy for each call. Nil, or a Policy that returns nil, means
	// NewExponentialBackOff(). A policy of yours has no limit but its own, unless MaxRetries is set: a
	// ConstantBackOff then retries until ctx ends. It needs no context; if it has one, Do's takes its place.
	Policy func() BackOff

	// Retryable reports whether to try again after err. It is called as that of WithRetryIf. Nil means
	// after every error that is not marked by Permanent.
	Retryable func(err error) bool

	// Budget pays for the retries. Nil means no budget.
	Budget *Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which
	// counts from 1, its error, and the wait.
	Notify func(ctx context.Context, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each call, after its slot is released, with the
	// number of attempts and what Do returns. The number is 0 if the call got no slot or ctx had ended. Done
	// is not called if op, or a function of the Retrier, panics or calls runtime.Goexit; the slot is
	// released then, too.
	Done func(ctx context.Context, attempts int, err error)
}

// Do calls op until it succeeds or r gives up, as [Retry] does, whose errors it returns. Other than with Retry:
//
//   - If ctx has ended already, op is not called. The error matches ctx.Err() and context.Cause(ctx).
//   - If there is no slot in time, op is not called. The error matches [ErrNoSlot]; see [Slots.Acquire]. In time means
//     that ctx's deadline leaves the first attempt all of AttemptTimeout. Later attempts may have less.
//   - op receives a context of its own, which ends with ctx, after AttemptTimeout, and when op returns.
//
// So read whatever belongs to that context inside op: the body of a response that op returns cannot be read any
// more ("context canceled"), nor can the rows of a query.
//
// Do not call Do with the same Retrier, or the same Slots, inside op: one call would hold two slots, and the
// attempts would multiply. When all slots are taken by such calls, the inner ones end with ErrNoSlot, and the outer
// ones try again; if attempts have no timeout and ctx no deadline, they wait for each other forever.
//
// An error that matches [context.DeadlineExceeded] may come from the timeout of the last attempt. To learn whether ctx
// has ended, ask ctx.Err(). If that is nil, and the error matches neither ErrNoSlot nor ErrBudgetExhausted, no retries
// were left, or no time for another.
//
// A nil ctx or op panics, and so does a Retrier with Slots and an AttemptTimeout of zero. Do is safe for
// concurrent use.
func (r *Retrier) Do(ctx context.Context, op func(ctx context.Context) error) error {
	switch {
	case ctx == nil:
		panic("backoff: Do called with a nil context")
	case op == nil:
		panic("backoff: Do called with a nil op")
	case r.Slots != nil && r.AttemptTimeout == 0:
		panic("backoff: a Retrier with Slots needs an AttemptTimeout")
	}

	attempts := 0
	err := r.call(ctx, op, &attempts)
	if r.Done != nil {
		r.Done(ctx, attempts, err)
	}
	return err
}

// DoWithData is like [Retrier.Do] and also returns the value of op's last call, even if that failed; the zero value if
// op was not called.
func DoWithData[T any](ctx context.Context, r *Retrier, op func(ctx context.Context) (T, error)) (T, error) {
	if op == nil {
		panic("backoff: DoWithData called with a nil op")
	}
	var data T
	err := r.Do(ctx, func(ctx context.Context) (err error) {
		data, err = op(ctx)
		return err
	})
	return data, err
}

// call makes a call, if it gets a slot, and counts its attempts.
func (r *Retrier) call(ctx context.Context, op func(ctx context.Context) error, attempts *int) error {
	if err := ctx.Err(); err != nil {
		return newContextError(err, context.Cause(ctx), err)
	}
	if err := r.Slots.Acquire(ctx, r.attemptTimeout()); err != nil {
		return err
	}
	defer r.Slots.Release()

	var notify Notify
	if r.Notify != nil {
		attempt := 0 // a count of its own: if notify kept attempts, each call would allocate it
		notify = func(err error, wait time.Duration) {
			attempt++
			r.Notify(ctx, attempt, err, wait)
		}
	}

	return RetryNotify(func() error {
		*attempts++
		return r.attempt(ctx, op)
	}, WithContext(r.policy(), ctx), notify)
}

// attempt calls op with a context of its own. The context has no cause of ours: net/http would return that in
// place of an error that matches context.DeadlineExceeded.
func (r *Retrier) attempt(ctx context.Context, op func(ctx context.Context) error) error {
	var cancel context.CancelFunc
	if timeout := r.attemptTimeout(); timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	return op(ctx)
}

// attemptTimeout returns the limit of an attempt; a negative one is none.
func (r *Retrier) attemptTimeout() time.Duration {
	return cmp.Or(r.AttemptTimeout, defaultAttemptTimeout)
}

// policy returns the policy of a call, with its limits.
func (r *Retrier) policy() BackOff {
	var b BackOff // nil is the default
	if r.Policy != nil {
		b = r.Policy()
	}
	if c, ok := b.(*contextBackOff); ok {
		b = c.BackOff // Do's context takes the place of c's, which would stop the decorators below
	}
	if b == nil || r.MaxRetries != 0 { // the caller's policy may have limits of its own
		b = WithMaxRetries(b, uint64(max(0, cmp.Or(r.MaxRetries, defaultMaxRetries))))
	}
	if r.Retryable != nil {
		b = WithRetryIf(b, r.Retryable)
	}
	if r.Budget != nil {
		b = WithBudget(b, r.Budget)
	}
	return b
}
