package backoff

import "time"

// WithBudget limits b to the retries that budget can pay for. If it cannot, the loop gives up, and its
// error matches [ErrBudgetExhausted] and the operation's last error.
//
// Tokens are taken before the wait, and only if no policy below stops first. They are returned if the
// retry does not start after all, for example because the context ends during the wait. Below a
// decorator without Unwrap none are returned, and no success puts any in: such loops only take.
//
// When the budget is empty, [Retry] returns immediately. If you call it in a loop, wait between the
// calls; see ExampleWithBudget_outerLoop. [NewTicker] panics on such a policy.
//
// A nil b means [NewExponentialBackOff]. A nil budget panics. The result holds the state of one loop.
func WithBudget(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudget called with a nil budget")
	}
	return &budgetBackOff{limit: newLimit(b), budget: budget}
}

// WithBudgetWait is like [WithBudget] for work that can wait: a retry that budget cannot pay for waits
// for its turn. While a service is down it receives little more than first attempts; once it answers,
// successes pay for the retries that have waited. If more than about 30 % of all attempts go on
// failing, such work stands nearly still. Notify is called for each wait, not for each retry.
//
// Tokens are taken when the wait is over. If budget cannot pay then, the loop takes another wait from b
// (at least 100 ms), calls notify, waits, and asks again, until budget pays, b stops or the context
// ends. A wait that a server asked for is made once. After a minute without a success or a retry, the
// next retry whose wait ends is free. So all workers of a pool may stand still for over a minute.
// The success of a retry that had to wait for its turn puts in SuccessRefund; but at the floor, and
// with a fixed Capacity, it returns the cost.
//
// Each of these waits counts as one of [WithMaxRetries], so limit such a loop by its context or by
// MaxElapsedTime. If b stops meanwhile, the error matches [ErrBudgetExhausted] instead of a stop cause.
//
// Do not use it for a connection that is kept: as long as that lasts it is no success, and pays for
// nothing. Loops of both kinds may share one budget, but it must not stand twice in one chain. If you
// call NextBackOff yourself, it is like WithBudget.
func WithBudgetWait(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudgetWait called with a nil budget")
	}
	return &budgetBackOff{limit: newLimit(b), budget: budget, waits: true}
}

type budgetBackOff struct {
	limit
	budget   *Budget
	waits    bool  // for its turn, instead of being refused
	inLoop   bool  // between a decision of a loop of this package and its end
	retrying bool  // the last attempt has failed: the next is a retry
	queued   bool  // the retry has had to wait for its turn
	granted  bool  // budget has let a retry go that has not started
	paid     int64 // for it
}

func (b *budgetBackOff) Observe(err error) {
	switch {
	case err != nil:
	case !b.retrying:
		b.budget.Deposit()
	case b.waits && b.granted:
		tokens := b.budget.cost()
		if b.queued { // or the backlog drains faster than a service with a long queue recovers
			tokens = b.budget.refund()
		}
		b.budget.succeed(tokens, b.budget.cost())
	default:
		b.budget.succeed(b.paid, b.paid)
	}
	b.retrying, b.queued, b.granted, b.paid = err != nil, false, false, 0
}

// Reset by an operation keeps what its retry has paid.
func (b *budgetBackOff) Reset() {
	if !b.inLoop {
		b.retrying, b.granted, b.paid = false, false, 0
	}
	b.BackOff.Reset()
}

func (b *budgetBackOff) NextBackOff() time.Duration {
	wait := b.limit.NextBackOff()
	if wait < 0 || b.waits && b.inLoop {
		return wait
	}
	paid, ok := b.budget.take(false)
	if !ok {
		b.reason = ErrBudgetExhausted
		return Stop
	}
	b.granted = true
	b.paid += paid
	return wait
}

// turn reports, at the end of a wait, whether the retry may be made.
func (b *budgetBackOff) turn() bool {
	if !b.waits {
		return true
	}
	b.paid, b.granted = b.budget.take(true)
	b.queued = b.queued || !b.granted
	return b.granted
}

func (b *budgetBackOff) prepare(floor time.Duration) {
	b.limit.prepare(floor)
	b.inLoop = true
	b.undo() // another budget could not pay at the end of the last wait
}

func (b *budgetBackOff) end(begun bool) {
	if !begun {
		b.undo()
	}
	b.inLoop, b.retrying, b.granted, b.paid = false, false, false, 0
}

func (b *budgetBackOff) undo() {
	if b.granted {
		b.budget.undo(b.paid)
		b.granted, b.paid = false, 0
	}
}
