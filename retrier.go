package backoff

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"
)

// Defaults for the fields of [Retrier].
const (
	defaultAttemptTimeout = 30 * time.Second
	defaultMaxAttempts    = 4
	defaultMaxRetryAfter  = time.Minute
)

// shortestWait is the shortest first wait of the default policy. Without it, an AttemptTimeout of nanoseconds would make a
// hot loop.
const shortestWait = time.Millisecond

// longWait is the wait that a call makes without its slot, like a longer one, though its attempts may take longer still.
const longWait = 2 * time.Second

// ErrRetriesExhausted says that a call of a [Retrier] gave up because no attempts were left, the policy allowed no
// more time, or a server asked for a wait longer than MaxRetryAfter. Test for it by [errors.Is]: the error of
// [Retrier.Do] also matches that of the last attempt. A call whose MaxAttempts is 1 returns that alone.
var ErrRetriesExhausted = errors.New("retries exhausted")

// askedTooLong is [ErrRetriesExhausted] where a server has asked for a wait that is too long.
type askedTooLong struct{}

func (askedTooLong) Error() string { return "asked to wait for longer than MaxRetryAfter" }
func (askedTooLong) Unwrap() error { return ErrRetriesExhausted }

// Retrier calls a service, and tries again when a call fails. Declare one for each service, shared by all calls to it:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: time.Second,        // at least four times what a call usually takes
//		Slots:          new(backoff.Slots), // fewer calls at once while many attempts time out
//	}
//
// The zero value is ready to use: up to four attempts of up to 30 s each, and no limit for all calls together.
// [Retrier.Do] is the contract.
//
// A Retrier is safe for concurrent use if its functions are. Its fields must not change while calls run. To change some
// for some calls, copy it: the copy shares the Slots and the Budget, unless you change them.
//
//	once := users
//	once.MaxAttempts = 1     // no retries, for a call that must not be made twice
//	once.AttemptTimeout = -1 // it is not cut off before ctx ends
//	once.Slots = nil         // those of the others are for their timeout
type Retrier struct {
	// AttemptTimeout limits each attempt. Zero means 30 s. A negative value means no limit: op receives ctx itself. Make
	// it at least four times what an attempt usually takes and, where somebody waits, at most a third of the deadline.
	AttemptTimeout time.Duration

	// Slots limits how many calls are in progress at once. new(Slots) does so only while many attempts time out, and
	// only for calls that have an AttemptTimeout or a deadline. Nil means no limit.
	Slots *Slots

	// MaxAttempts is how often a call calls op at most, even if Policy would go on. Zero means 4, and 1 means no
	// retries. A negative value means no limit: only Policy and ctx end the retries, and without either they never
	// end.
	MaxAttempts int

	// MaxRetryAfter is the longest wait that a server may ask for, by [RetryAfter]; if it asks for more, the call
	// ends. Zero means one minute, a negative value no limit.
	MaxRetryAfter time.Duration

	// Policy returns a new policy for each call. Nil, or a Policy that returns nil, means waits of about 0.5 s, or of half
	// the time that the first attempt may take if that is less, × 1.5 each time. To retry for two
	// minutes while a database starts, set MaxAttempts to -1 and return
	// backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(2 * time.Minute)).
	Policy func() BackOff

	// Retryable reports whether to try again after err; permanent errors never are. Nil means all others. Many
	// libraries have such a function that returns false for a timeout: with it, a timeout is not retried.
	Retryable func(err error) bool

	// Budget limits the retries of all calls that share it. A new one allows five at first. Nil means no limit, which is
	// right for most services: see [Budget].
	Budget *Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, from 1 on. The
	// call holds its slot meanwhile, so return quickly. ctx is that of Do, which has no AttemptTimeout.
	//
	// Notify and Done must not call through this Retrier, as a log that is sent to the same server does: while that is
	// down, each line would make another.
	Notify func(ctx context.Context, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each call, with the number of its attempts and what Do
	// returns; not if a function panics or exits. The number is 0 if op was not called. ctx is that of Do.
	Done func(ctx context.Context, attempts int, err error)
}

// Do calls op until it succeeds or r gives up. What [Retry] promises holds, with these differences:
//
//   - If ctx has ended already, or no slot is free in time, op is not called.
//   - op receives a context that ends with ctx, after AttemptTimeout, and when op returns. So read bodies and rows inside
//     op, which must end when its context does. With a negative AttemptTimeout, op receives ctx itself.
//   - A wait that would outlast ctx's deadline never starts, not even the first. So Do may return at once: if you call it
//     in a loop of your own, wait between the calls.
//
// By [errors.Is], the error matches what stands beside the first reason that is true:
//
//   - no slot for the first attempt, so nothing was sent: [ErrNoSlot], and ctx.Err() if ctx has ended;
//   - a permanent error (see [Permanent]): that error alone;
//   - the end of ctx: ctx.Err(), context.Cause(ctx) and the last error; if ctx ended in an attempt, the one before as well;
//   - an error that Retryable refused, or MaxAttempts is 1: that error alone;
//   - no attempts left, a policy that stopped, or a server that asked for more than MaxRetryAfter: [ErrRetriesExhausted] and
//     the last error, in which that wait is found as a [RetryAfterError];
//   - no time for the wait, or for a slot after it: [context.DeadlineExceeded] and the last error, while ctx.Err() is nil;
//   - an empty Budget: [ErrBudgetExhausted] and the last error.
//
// The timeout of an attempt matches [context.DeadlineExceeded], too. To learn whether ctx has ended, ask ctx.Err().
//
// # Slots
//
// A call takes a slot before its first attempt. If none is free, it waits in line until ctx ends. If ctx has a deadline, it
// waits as long as that leaves an attempt its whole AttemptTimeout, or for a quarter of the time that is left, whichever is
// longer. It gives the slot back before a wait of two seconds or more, or of AttemptTimeout if that is less.
//
// An attempt has timed out if op returns an error and its time is over, or if the error has a method Timeout that returns
// true, or matches [context.DeadlineExceeded], unless an inner call has refused a wait. If ctx was cancelled, the attempt
// does not count.
//
// Do not call Do with the same Retrier, or the same Slots, inside op or a function of the Retrier: one call would hold two
// slots, and the attempts would multiply.
//
// # Policy
//
// Policy is called once for each call, when that has its slot. In the policy, ctx replaces any context. For a connection
// that is kept, use [Retry]: its operation can call Reset.
//
// A nil r, ctx or op panics. If op or a function of the Retrier panics or calls runtime.Goexit, the slot is released. Do is
// safe for concurrent use, and calls all functions in the caller's goroutine.
func (r *Retrier) Do(ctx context.Context, op func(ctx context.Context) error) error {
	switch {
	case r == nil:
		panic("backoff: Do called on a nil Retrier")
	case ctx == nil:
		panic("backoff: Do called with a nil context")
	case op == nil:
		panic("backoff: Do called with a nil op")
	}

	c := call{retrier: r, slots: r.slotsFor(ctx)}
	c.loop.ctx = ctx
	c.loop.strict = true
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

// A call is a call of Do. It puts its own steps between those of its loop.
type call struct {
	retrier  *Retrier
	loop     loop
	slots    *Slots // or nil
	attempts int

	hasSlot bool
	paid    bool // for a retry that has no outcome yet: if it succeeds, or never has one, what it took comes back

	began   time.Time     // the attempt that runs, or is next
	allowed time.Duration // how long it may take

	// Of the last attempt, for Slots that size themselves:
	ended   time.Duration // when op returned, or the call ended after that, since epoch
	outcome outcome       // until they have counted it
}

// run makes the call, if it gets a slot. (As a field of call, op would be allocated.)
func (c *call) run(op func(ctx context.Context) error) error {
	err := c.alreadyEnded()
	if err != nil {
		return err
	}
	c.prepare() // before the call counts as begun: a context of a user's own may panic
	defer c.end()
	if c.slots != nil {
		c.hasSlot = c.slots.begin(c.began.Sub(epoch), c.allowed)
		if !c.hasSlot {
			err = c.acquire()
			if err != nil {
				return err
			}
			c.prepare()
		}
	}

	if c.retrier.Policy != nil {
		c.loop.policy = c.retrier.newPolicy(c.loop.ctx, c.allowed)
		err = c.alreadyEnded() // it may have taken time
		if err != nil {
			return err
		}
		c.prepare()
	}
	for {
		err := c.attempt(op)
		if err == nil {
			c.retrier.Budget.settle(c.paid, true)
			c.paid = false
			return nil
		}
		final := c.next(err)
		if final != nil {
			return final
		}
	}
}

// alreadyEnded returns the error of a call whose context has ended before its first attempt, or nil.
func (c *call) alreadyEnded() error {
	err := c.loop.ctx.Err()
	if err != nil {
		return c.loop.ended(err, err, nil)
	}
	return nil
}

// prepare notes that an attempt begins now, and how long it may take.
func (c *call) prepare() {
	c.began = time.Now()
	c.allowed = c.retrier.attemptTimeout()
	if c.allowed < 0 {
		c.allowed = math.MaxInt64
	}
	if deadline, ok := c.loop.ctx.Deadline(); ok {
		c.allowed = min(c.allowed, max(0, deadline.Sub(c.began)))
		c.loop.inTime = c.allowed > 0
	}
}

// attempt calls op with a context of its own. The context has no cause of ours: net/http would return that in
// place of an error that matches context.DeadlineExceeded.
func (c *call) attempt(op func(ctx context.Context) error) error {
	c.attempts++
	ctx := c.loop.ctx
	timeout := c.retrier.attemptTimeout()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.began.Add(timeout)) // WithTimeout would read the clock once more
		defer cancel()
	}

	err := op(ctx)
	if c.slots.sizesItself() {
		c.ended = time.Since(epoch)
		c.outcome = c.outcomeOf(err)
	}
	if v, ok := err.(verdict); ok { // outcomeOf has read it
		err = cmp.Or(v.Unwrap(), err)
	}
	return err
}

// outcomeOf returns how an attempt ended that has returned err. It asks the clock whether the time was over, because a
// connection's deadline may come a moment before the context's.
func (c *call) outcomeOf(err error) outcome {
	took := c.ended - c.began.Sub(epoch)
	quickly := took <= c.allowed/quickPart
	switch {
	case err != nil && errors.Is(c.loop.ctx.Err(), context.Canceled):
		return nothing
	case err != nil && isLate(err, took >= c.allowed):
		return late
	case !quickly:
		return slow
	case err != nil:
		return failedQuickly
	}
	return quick
}

// next waits for the next attempt, and has a slot then.
func (c *call) next(last error) error {
	c.paid = false // the attempt has failed, so nothing comes back
	if c.attempts == 1 {
		c.retrier.limit(&c.loop) // which a call that succeeds at once does not need
	}
	err := c.loop.settled(last)
	if err != nil {
		if c.outcome == failedQuickly {
			c.outcome = quick // a final error is an answer
		}
		return err
	}

	if c.loop.policy == nil { // the default one, which most calls do not need
		c.loop.policy = c.retrier.newPolicy(c.loop.ctx, c.allowed)
	}
	wait, err := c.loop.plan(last)
	if err != nil {
		return err
	}

	budget := c.retrier.Budget
	if budget != nil {
		c.paid = budget.Withdraw()
		if !c.paid {
			return newStopError(ErrBudgetExhausted, last)
		}
	}

	if c.retrier.Notify != nil {
		c.retrier.Notify(c.loop.ctx, c.attempts, last, wait)
	}
	if c.hasSlot {
		c.hasSlot = c.slots.keep(c.ended, c.outcome, c.isLong(wait, last))
		c.outcome = nothing
	}
	return c.pause(wait, last)
}

// isLong reports whether a wait is made without the slot, so that calls that fail for long do not hold the slots that
// others need. With a fixed number of slots, what a server asks for does not count: while an overloaded server asks for a
// pause, the slots that are held keep other calls from it.
func (c *call) isLong(wait time.Duration, last error) bool {
	if !c.slots.sizesItself() {
		wait -= serverWait(last)
	}
	timeout := c.retrier.attemptTimeout()
	return wait >= longWait || timeout > 0 && wait >= timeout
}

// pause waits, and has a slot then.
func (c *call) pause(wait time.Duration, last error) error {
	err := c.loop.pause(wait, last)
	if err != nil {
		return err
	}
	if c.acquire() == nil {
		c.prepare()
		return nil
	}
	err = c.loop.ctx.Err()
	if err != nil {
		return c.loop.ended(err, last, nil)
	}
	return newEndError(context.DeadlineExceeded, noSlotAgain, last, nil)
}

// noSlotAgain does not match ErrNoSlot, which says that the call was not made.
const noSlotAgain = refusal("no slot for the next attempt in time")

// acquire takes a slot, if the call has none.
func (c *call) acquire() error {
	if c.slots == nil || c.hasSlot {
		return nil
	}
	timeout := c.retrier.attemptTimeout()
	if timeout < 0 && c.slots.sizesItself() {
		timeout = math.MaxInt64 // as long as there is time: a slot at its end would only make one more attempt late
	}
	err := c.slots.acquire(c.loop.ctx, timeout, c.attempts == 0)
	c.hasSlot = err == nil
	return err
}

// end runs on every way out. If a retry was paid for and has no outcome, what it took comes back.
func (c *call) end() {
	c.loop.end()
	if c.slots != nil {
		if c.outcome == nothing && c.slots.sizesItself() {
			c.ended = time.Since(epoch)
		}
		c.slots.end(c.ended, c.outcome, c.hasSlot)
	}
	c.retrier.Budget.settle(c.paid, false)
}

// attemptTimeout returns the limit of an attempt; a negative one is none.
func (r *Retrier) attemptTimeout() time.Duration {
	return cmp.Or(r.AttemptTimeout, defaultAttemptTimeout)
}

// slotsFor returns the Slots of a call with ctx: nil for a zero Slots if nothing limits how long an attempt may take, since
// the number of slots depends on that.
func (r *Retrier) slotsFor(ctx context.Context) *Slots {
	_, ends := ctx.Deadline()
	if !ends && r.attemptTimeout() < 0 && r.Slots.sizesItself() {
		return nil
	}
	return r.Slots
}

// limit gives l the limits of a call. Where there never are retries, its error gives no reason.
func (r *Retrier) limit(l *loop) {
	l.retryable = r.Retryable
	l.maxAsked = cmp.Or(r.MaxRetryAfter, defaultMaxRetryAfter)
	l.tooLongReason = askedTooLong{}
	if r.MaxAttempts != 1 {
		l.stopReason = ErrRetriesExhausted
	}
}

// newPolicy returns the policy of a call with ctx, with the limit of its attempts, and calls its Reset. The default waits
// begin with half of what the first attempt may take, if that is short.
func (r *Retrier) newPolicy(ctx context.Context, allowed time.Duration) BackOff {
	var b BackOff
	if r.Policy != nil {
		b = r.Policy()
	}
	if b == nil {
		first := min(DefaultInitialInterval, max(shortestWait, allowed/2))
		b = NewExponentialBackOff(WithInitialInterval(first), WithMaxElapsedTime(0)) // MaxAttempts is its limit
	}
	replaceContexts(b, ctx)
	attempts := cmp.Or(r.MaxAttempts, defaultMaxAttempts)
	if attempts > 0 {
		b = WithMaxRetries(b, uint64(attempts-1))
	}
	b.Reset()
	return b
}
