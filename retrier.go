package backoff

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Defaults for the fields of [Retrier].
const (
	defaultAttemptTimeout = 30 * time.Second
	defaultMaxRetries     = 3
	defaultMaxRetryAfter  = time.Minute
)

// ErrRetriesExhausted is what the error of [Retrier.Do] matches, by [errors.Is], if no retries were left, the policy
// allowed no more time, or a server asked for a wait longer than MaxRetryAfter. The error also matches that of the last
// attempt.
var ErrRetriesExhausted = errors.New("retries exhausted")

// Retrier calls a service, and tries again when a call fails. Declare one for each service, shared by all calls to it:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: 2 * time.Second,
//		Slots:          backoff.NewSlots(20), // 3/4 × 13 calls a second × 2 s
//		Budget:         new(backoff.Budget),
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
// A call first acquires a slot, and holds it to its end, waits included. The timeout of an attempt begins when the call
// has its slot. Only a long wait is made without the slot, and the call stands in line again after it. A wait is long
// if it exceeds what the server asks for (mostly nothing) by AttemptTimeout or more; without a timeout, none is.
//
// Give each part of a service that can fail by itself a Retrier of its own, and each quota, such as a tenant's.
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
	// AttemptTimeout limits each attempt. Zero means 30 s, a negative value no limit. Make it at least three times
	// what a call usually takes. An attempt that takes longer has failed like any other: it is retried unless
	// Retryable says no.
	AttemptTimeout time.Duration

	// Slots limits the calls in progress. Nil means no limit. [Slots] says how many to make.
	Slots *Slots

	// MaxRetries limits the retries of a call, whatever Policy is. Zero means 3, a negative value none. To let the
	// policy alone decide, set math.MaxInt. For example, to retry for two minutes while a database starts:
	//
	//	MaxRetries: math.MaxInt,
	//	Policy: func() backoff.BackOff {
	//		return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(2 * time.Minute))
	//	},
	MaxRetries int

	// MaxRetryAfter is the longest wait that a server may ask for, by [RetryAfter]. If it asks for more, the call
	// ends with [ErrRetriesExhausted] and the last error, in which the wait is found as a [RetryAfterError]. Zero
	// means one minute; with a negative value, each error that asks for a wait ends the call.
	MaxRetryAfter time.Duration

	// Policy says how long to wait. It is called once for each call, after its slot is acquired, and must
	// return a new policy each time. Nil, or a Policy that returns nil, means [NewExponentialBackOff] without a limit
	// of time: about 0.5 s, and half as long again each time. The number of retries is MaxRetries, three if that is
	// zero. A policy needs no context; if it is the result of [WithContext], Do's context takes its place.
	Policy func() BackOff

	// Retryable reports whether to try again after err. It is called after each attempt that failed, unless
	// the error is permanent or ctx has ended. Nil means that all other errors are retried.
	Retryable func(err error) bool

	// Budget pays for the retries. Nil means no budget. Set one where somebody waits for the call: when many calls
	// fail, it ends their retries, and it protects the service where there are too many slots. A fresh budget
	// pays for five retries. Work that can wait needs none.
	Budget *Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which
	// counts from 1, its error, and the wait. It should return quickly: the call holds its slot meanwhile.
	Notify func(ctx context.Context, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each call, after its slot is released, with the
	// number of attempts and what Do returns. The number is 0 if the call got no slot or ctx had ended. Done
	// is not called if op, or a function of the Retrier, panics or calls runtime.Goexit; the slot is
	// released then, too.
	Done func(ctx context.Context, attempts int, err error)
}

// Do calls op until it succeeds or r gives up. Between two attempts it does what [Retry] does, save for this:
//
//   - If ctx has ended already, op is not called. The error matches ctx.Err() and context.Cause(ctx).
//   - If there is no slot in time, op is not called. The error matches [ErrNoSlot]; see [Slots.Acquire].
//   - op receives a context of its own, which ends with ctx, after AttemptTimeout, and when op returns.
//   - A wait that would outlast ctx's deadline never starts, not even the first.
//
// So Do may return immediately, and so it does if the budget is empty, or a server asks for more than MaxRetryAfter. If
// you call it again and again in a loop of your own, wait between the calls.
//
// Read whatever belongs to op's context inside op: the body of a response that op returns cannot be read any more
// ("context canceled"), nor can the rows of a query.
//
// The error tells why the call ended. It matches, by [errors.Is]:
//
//   - [ErrNoSlot] if the call got no slot. Nothing was sent.
//   - [ErrRetriesExhausted] and the last error if no retries were left, the policy allowed no more time, or a server
//     asked for more than MaxRetryAfter.
//   - [ErrBudgetExhausted] and the last error if Budget could not pay for the next retry.
//   - ctx.Err(), context.Cause(ctx) and the last error if ctx ended. If it ended in an attempt, the error matches
//     that of the attempt before as well.
//   - [context.DeadlineExceeded] and the last error if there was no time for another attempt: its wait, or its
//     slot, would have come too late. ctx.Err() is still nil then.
//
// Otherwise it is the error of the last attempt, unchanged but for marks: a permanent one (see [Permanent]), also if ctx
// has ended meanwhile; one that Retryable refused; or that of a call without retries, whose MaxRetries is negative.
//
// What op returns shows through. So an error that matches [context.DeadlineExceeded] may come from the timeout of the
// last attempt; to learn whether ctx has ended, ask ctx.Err(). And if op itself calls Do, of another Retrier, the error
// may match the inner call's ErrNoSlot although op was called: the number that Done receives tells.
//
// Do not call Do with the same Retrier, or the same Slots, inside op or a function of the Retrier: one call would hold
// two slots, and the attempts would multiply. When all slots are taken by such calls, the inner ones end with ErrNoSlot,
// and the outer ones try again; if attempts have no timeout and ctx no deadline, they wait for each other forever.
//
// A nil r, ctx or op panics. Do is safe for concurrent use.
func (r *Retrier) Do(ctx context.Context, op func(ctx context.Context) error) error {
	switch {
	case r == nil:
		panic("backoff: Do called on a nil Retrier")
	case ctx == nil:
		panic("backoff: Do called with a nil context")
	case op == nil:
		panic("backoff: Do called with a nil op")
	}

	c := call{
		loop:    loop{ctx: ctx, strict: true},
		retrier: r,
	}
	err := c.run(op)
	if r.Done != nil {
		r.Done(ctx, c.attempts, err)
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

// A call is a loop with the parts of a Retrier: it puts its own steps between those of the loop.
type call struct {
	loop
	retrier  *Retrier
	attempts int
	hasSlot  bool
	paid     bool // for a retry that has not ended yet
}

// run makes the call, if it gets a slot. (As a field of call, op would be allocated.)
func (c *call) run(op func(ctx context.Context) error) error {
	err := c.ctx.Err()
	if err != nil {
		return c.contextError(err, err, nil)
	}
	err = c.acquire()
	if err != nil {
		return err
	}
	defer c.end()

	if c.retrier.Policy != nil {
		c.policy = c.retrier.newPolicy()
	}
	for {
		err := c.attempt(op)
		if err == nil {
			c.succeed()
			return nil
		}
		final := c.next(err)
		if final != nil {
			return final
		}
	}
}

// attempt calls op with a context of its own. The context has no cause of ours: net/http would return that in
// place of an error that matches context.DeadlineExceeded.
func (c *call) attempt(op func(ctx context.Context) error) error {
	c.attempts++
	ctx := c.ctx
	var cancel context.CancelFunc
	if timeout := c.retrier.attemptTimeout(); timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	return op(ctx)
}

// next waits for the next attempt, as loop.next does, with a slot in hand.
func (c *call) next(last error) error {
	c.paid = false // the attempt has failed, so nothing comes back
	err := c.ended(last)
	if err != nil {
		return err
	}
	r := c.retrier
	if r.Retryable != nil && !r.Retryable(last) {
		return last
	}

	if c.policy == nil { // the default, which a call that succeeds at once does not need
		c.policy = r.newPolicy()
	}
	wait, err := c.ask(last)
	if err != nil {
		return err
	}
	if wait < 0 || minWait(last) > r.maxRetryAfter() {
		return c.exhausted(last)
	}
	err = c.tooLate(wait, last)
	if err != nil {
		return err
	}
	if !c.pay() {
		return newStopError(ErrBudgetExhausted, last)
	}

	if r.Notify != nil {
		r.Notify(c.ctx, c.attempts, last, wait)
	}
	return c.pauseForSlot(wait, last)
}

// exhausted returns the error of a call that has no retries left. Where there never were any, that is last.
func (c *call) exhausted(last error) error {
	if c.retrier.MaxRetries < 0 {
		return last
	}
	return newStopError(ErrRetriesExhausted, last)
}

// pauseForSlot waits, and has a slot then. A long wait is made without the slot, so that calls that fail for long do
// not hold the slots that others need. What the server asks for does not make a wait long: while an overloaded server
// asks for a pause, the slots that are held keep other calls from it.
func (c *call) pauseForSlot(wait time.Duration, last error) error {
	timeout := c.retrier.attemptTimeout()
	if timeout > 0 && wait-minWait(last) >= timeout {
		c.release()
	}
	err := c.pause(wait, last)
	if err != nil {
		return err
	}

	if c.acquire() == nil {
		return nil
	}
	err = c.ctx.Err()
	if err != nil {
		return c.contextError(err, last, nil)
	}
	return newContextError(context.DeadlineExceeded, errNoSlotAgain, last, nil)
}

// errNoSlotAgain does not match ErrNoSlot, which says that the call was not made.
var errNoSlotAgain = errors.New("no slot for the next attempt in time")

// acquire takes a slot, if the call has none.
func (c *call) acquire() error {
	if c.hasSlot {
		return nil
	}
	err := c.retrier.Slots.Acquire(c.ctx, c.retrier.attemptTimeout())
	c.hasSlot = err == nil
	return err
}

// release returns the slot, if the call has one.
func (c *call) release() {
	if c.hasSlot {
		c.hasSlot = false
		c.retrier.Slots.Release()
	}
}

// pay pays for a retry, and reports whether the budget could.
func (c *call) pay() bool {
	budget := c.retrier.Budget
	c.paid = budget != nil && budget.Withdraw()
	return c.paid || budget == nil
}

// succeed tells the budget. What the retry took comes back.
func (c *call) succeed() {
	budget := c.retrier.Budget
	switch {
	case budget == nil:
	case c.paid:
		budget.put(budget.cost(), true)
	default:
		budget.Deposit()
	}
	c.paid = false
}

// end runs on every way out. If a retry was paid for and has no outcome, what it took comes back.
func (c *call) end() {
	c.loop.end()
	c.release()
	if c.paid {
		c.retrier.Budget.put(c.retrier.Budget.cost(), false)
	}
}

// attemptTimeout returns the limit of an attempt; a negative one is none.
func (r *Retrier) attemptTimeout() time.Duration {
	return cmp.Or(r.AttemptTimeout, defaultAttemptTimeout)
}

// maxRetryAfter returns the longest wait that a server may ask for.
func (r *Retrier) maxRetryAfter() time.Duration {
	return max(0, cmp.Or(r.MaxRetryAfter, defaultMaxRetryAfter))
}

// newPolicy returns the policy of a call, with the limit of its retries, and calls its Reset.
func (r *Retrier) newPolicy() BackOff {
	var b BackOff
	if r.Policy != nil {
		b = r.Policy()
	}
	if b == nil {
		b = NewExponentialBackOff(WithMaxElapsedTime(0)) // MaxRetries is its limit
	}
	if c, ok := b.(*contextBackOff); ok {
		b = c.BackOff // Do's context takes the place of c's
	}
	b = WithMaxRetries(b, uint64(max(0, cmp.Or(r.MaxRetries, defaultMaxRetries))))
	b.Reset()
	return b
}
