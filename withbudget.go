package backoff

import "time"

// WithBudget limits b to the retries that budget can pay for. If it cannot, the loop gives up, and its
// error matches [ErrBudgetExhausted] and the operation's last error.
//
// A retry is paid for before its wait, once no policy refuses it. The tokens are returned if it succeeds,
// or does not start after all, for example because the context ends during the wait. Below a decorator
// without Unwrap none are returned, and no success puts any in.
//
// When the budget is empty, [Retry] returns immediately. If you call it in a loop, wait between the
// calls; see ExampleWithBudget_outerLoop. [NewTicker] panics on such a policy. A nil budget panics.
func WithBudget(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudget called with a nil budget")
	}
	return &budgetBackOff{decorator: decorator{orDefault(b)}, budget: budget}
}

// WithBudgetWait is like [WithBudget] for work that can wait, and that arrives whether or not earlier
// work is done: a goroutine for each message, many clients. Give b a context, but no limit of time:
// WithMaxElapsedTime(0). It is not for a fixed pool of workers, which limits itself, nor for a connection
// that is kept. A batch beside a trickle of other calls needs a budget of its own.
//
// If the bucket is empty when a wait is over, the loop waits again (b's next wait, at least 100 ms; it is
// notified, and counts for [WithMaxRetries]) until there is a turn. If the policy stops meanwhile, the
// error matches [ErrBudgetExhausted]. Five successes at the first attempt pay for a turn; after 20 s
// without such a success, one of a retry pays for two. A turn is free if for 20 s no attempt has ended,
// or if for a minute nothing has succeeded and no retry was made.
//
// If nothing fails for good, a service recovers while load × (1 + SuccessRefund / RetryCost) < 1 (a small
// one: well below 1). load is that of first attempts, as a share of its capacity. A backlog takes about
// five times as long as nothing succeeded: RetryCost / SuccessRefund. A service with room: SuccessRefund: 5.
func WithBudgetWait(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudgetWait called with a nil budget")
	}
	return &budgetBackOff{decorator: decorator{orDefault(b)}, budget: budget, waits: true}
}

// budgetBackOff is what WithBudget and WithBudgetWait return. In a loop of this package it answers as the
// policy below does, and the loop calls pay: before the wait, or with waits at its end. Its state there:
//
//	                      inLoop   paid    queued
//	first attempt         false    false   false
//	decided               true     false   false
//	waiting               true     !waits  false
//	waiting for a turn    true     false   true
//	begun                 true     true    by a turn
type budgetBackOff struct {
	decorator
	budget *Budget
	waits  bool // for a turn, instead of being refused
	inLoop bool // between a decision of a loop of this package and its end
	paid   bool // for the retry that is to be made, or is being made
	queued bool // the bucket could not pay for it
}

func (b *budgetBackOff) Observe(err error) {
	b.budget.observe(err, b.paid, b.queued)
	b.paid, b.queued = false, false
}

// Reset by an operation keeps what its retry has paid.
func (b *budgetBackOff) Reset() {
	if !b.inLoop {
		b.paid = false
	}
	b.BackOff.Reset()
}

// NextBackOff pays by itself where no loop of this package does.
func (b *budgetBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	if wait >= 0 && !b.inLoop {
		if b.paid = b.budget.Withdraw(); !b.paid {
			return Stop
		}
	}
	return wait
}

// pay pays for a retry and reports whether it could.
func (b *budgetBackOff) pay() bool {
	b.paid = !b.queued && b.budget.Withdraw()
	if !b.paid && b.waits {
		b.queued = true
		b.paid = b.budget.pay(true)
	}
	return b.paid
}

func (b *budgetBackOff) prepare(time.Duration) {
	b.inLoop = true
	b.undo() // another budget could not pay at the end of the last wait
}

func (b *budgetBackOff) end(begun bool) {
	if !begun {
		b.undo()
	}
	b.inLoop, b.paid, b.queued = false, false, false
}

func (b *budgetBackOff) undo() {
	if b.paid {
		b.budget.undo(b.queued)
		b.paid = false
	}
}
