package backoff

import (
	"sync/atomic"
	"time"
)

// Default values of [Budget]'s fields. They allow 100 retries in a row without a success, and then
// one retry for each success.
const (
	DefaultBudgetCapacity = 500
	DefaultRetryCost      = 5
	DefaultSuccessRefund  = 5
)

// Budget limits the retries of many loops together. It keeps a service that is down from being hit
// by a multiple of its usual load. It is a bucket of tokens: each retry takes some out, each
// success puts some in, and where there are too few left there is no retry. (After the retry quota
// of the AWS SDKs' standard retry mode.)
//
// Share one Budget among all loops that call the same service, by [WithBudget]. It needs no clock
// and no goroutine.
//
// The zero value is a full bucket with the default values. Any number of goroutines may use a
// Budget. Its fields must not be changed, nor the Budget copied, after first use.
type Budget struct {
	// Capacity is how many tokens the bucket holds, and what it starts with. Zero means
	// DefaultBudgetCapacity, a negative number an empty bucket.
	Capacity int

	// RetryCost is what a retry takes out. Zero means DefaultRetryCost; with a negative number
	// retries are free.
	RetryCost int

	// SuccessRefund is what a success puts in. Zero means DefaultSuccessRefund, a negative number
	// that successes put in nothing.
	SuccessRefund int

	spent atomic.Int64 // what is missing from a full bucket; in [0, Capacity]
}

// Withdraw takes RetryCost out of the bucket and reports true; or leaves it as it is and reports
// false if there is not as much in it. [WithBudget] calls it before each retry; call it yourself in
// a loop that has no policy of that kind.
func (b *Budget) Withdraw() bool {
	capacity, cost := b.capacity(), b.cost()
	for {
		spent := b.spent.Load()
		if cost > capacity-spent {
			return false
		}
		if b.spent.CompareAndSwap(spent, spent+cost) {
			return true
		}
	}
}

// Deposit puts SuccessRefund into the bucket, up to its Capacity. The Retry functions call it after
// a success, through [WithBudget]; call it yourself in loops over [Attempts] or a [Ticker].
func (b *Budget) Deposit() {
	b.put(valueOf(b.SuccessRefund, DefaultSuccessRefund))
}

// Tokens returns how many tokens are in the bucket.
func (b *Budget) Tokens() int { return int(b.capacity() - b.spent.Load()) }

func (b *Budget) put(tokens int64) {
	for {
		spent := b.spent.Load()
		if b.spent.CompareAndSwap(spent, max(0, spent-tokens)) {
			return
		}
	}
}

func (b *Budget) capacity() int64 { return valueOf(b.Capacity, DefaultBudgetCapacity) }

func (b *Budget) cost() int64 { return valueOf(b.RetryCost, DefaultRetryCost) }

func valueOf(field, zeroMeans int) int64 {
	if field == 0 {
		field = zeroMeans
	}
	return int64(max(0, field))
}

// WithBudget returns b, paying for each retry out of budget. NextBackOff stops if the budget
// cannot pay, and the loop returns the operation's own error; each success is paid in.
//
// A retry is paid for before the wait, and only if b would go on; where the loop then refuses the
// wait, for a deadline's sake, the cost goes back.
//
// A nil b means [NewExponentialBackOff]. A nil budget panics. The result is for one loop at a time,
// the budget for any number.
func WithBudget(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudget called with a nil budget")
	}
	return &budgetBackOff{BackOff: orDefault(b), budget: budget}
}

type budgetBackOff struct {
	BackOff
	budget *Budget
	paid   int64 // for the retry that is next
}

func (b *budgetBackOff) Unwrap() BackOff { return b.BackOff }

func (b *budgetBackOff) Reset() {
	b.paid = 0
	b.BackOff.Reset()
}

func (b *budgetBackOff) Observe(err error) {
	b.paid = 0
	if err == nil {
		b.budget.Deposit()
	}
}

func (b *budgetBackOff) NextBackOff() time.Duration {
	b.paid = 0
	wait := b.BackOff.NextBackOff()
	if wait < 0 {
		return wait
	}
	if !b.budget.Withdraw() {
		giveBack(b.BackOff)
		return Stop
	}
	b.paid = b.budget.cost()
	return wait
}

// giveBack returns what the budgets in b have paid for a retry that is not to be.
func giveBack(b BackOff) {
	for ; b != nil; b = unwrap(b) {
		if d, ok := b.(*budgetBackOff); ok {
			d.budget.put(d.paid)
			d.paid = 0
		}
	}
}
