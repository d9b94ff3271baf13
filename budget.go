package backoff

import (
	"errors"
	"sync/atomic"
	"time"
)

// Defaults for the fields of [Budget].
const (
	DefaultBudgetCapacity = 500
	DefaultRetryCost      = 5
	DefaultSuccessRefund  = 1
)

// ErrBudgetExhausted is matched by the error of a loop to which a [Budget] has refused a retry.
var ErrBudgetExhausted = errors.New("retry budget exhausted")

// Budget limits the retries of many loops together, so that retries cannot multiply the load on a
// service that is down. It is a token bucket: a retry withdraws tokens, a success deposits some,
// and a retry that cannot be paid for is not made. (After the retry quota of the AWS SDKs' standard
// retry mode.)
//
// A success at the first attempt deposits SuccessRefund; a success after a retry returns what that
// retry cost. With the defaults 100 failing retries in a row are allowed and the next is not. In
// the long run the retries that fail again are at most a fifth of the first attempts that succeed.
//
// Share one Budget, through [WithBudget], among all loops that call the same service. It needs no
// clock and no goroutine.
//
// The zero value is a full bucket with the defaults. A Budget is safe for concurrent use. It must
// not be copied, nor its fields changed, after first use.
type Budget struct {
	// Capacity is the number of tokens in a full bucket. Zero means DefaultBudgetCapacity; a
	// negative value means an empty bucket.
	Capacity int

	// RetryCost is the number of tokens that a retry withdraws. Zero means DefaultRetryCost; a
	// negative value means that retries are free.
	RetryCost int

	// SuccessRefund is the number of tokens that a success at the first attempt deposits. Zero
	// means DefaultSuccessRefund; a negative value means none.
	SuccessRefund int

	spent atomic.Int64 // what is missing from a full bucket; in [0, Capacity]
}

// Withdraw takes RetryCost tokens and reports whether it could; with too few left it takes none.
// Call it before each retry in a loop written by hand, or over a [Ticker]; [WithBudget] does so in
// all others.
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

// Deposit puts in SuccessRefund tokens, up to Capacity. Call it after each success in a loop that
// calls Withdraw. It does not return what a retry cost, so such a loop spends its budget sooner
// than one with [WithBudget].
func (b *Budget) Deposit() {
	b.put(valueOf(b.SuccessRefund, DefaultSuccessRefund))
}

// Tokens returns the number of tokens in the bucket.
func (b *Budget) Tokens() int { return int(b.capacity() - b.spent.Load()) }

func (b *Budget) put(tokens int64) {
	for {
		spent := b.spent.Load()
		if spent == 0 || b.spent.CompareAndSwap(spent, max(0, spent-tokens)) {
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

// WithBudget returns b with each retry paid for out of budget. If budget cannot pay, NextBackOff
// returns [Stop], and the loop's error matches [ErrBudgetExhausted] and the operation's last error.
//
// A retry is paid for before its wait, if everything below would go on. The cost is returned if the
// retry is not made after all: if a decorator above stops, the wait would outlast the deadline, or
// the context ends before or during the wait.
//
// Do not use it with a [Ticker], which does not know how an attempt ended: each tick after the first
// would be paid for, also after a success. Call [Budget.Withdraw] and [Budget.Deposit] there.
//
// A nil b means [NewExponentialBackOff]. A nil budget panics. The result holds the state of one
// loop; the budget is shared by many.
func WithBudget(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudget called with a nil budget")
	}
	return &budgetBackOff{BackOff: orDefault(b), budget: budget}
}

type budgetBackOff struct {
	BackOff
	budget  *Budget
	paid    int64 // for the current retry
	retried bool  // the current attempt is a retry
	refused bool  // the budget could not pay
}

func (b *budgetBackOff) Unwrap() BackOff { return b.BackOff }

func (b *budgetBackOff) Observe(err error) {
	switch {
	case err != nil:
	case b.retried:
		b.budget.put(b.paid)
	default:
		b.budget.Deposit()
	}
	b.paid, b.retried = 0, false
}

func (b *budgetBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	if wait < 0 {
		return wait
	}
	b.retried = b.budget.Withdraw()
	if b.refused = !b.retried; b.refused {
		return Stop
	}
	b.paid += b.budget.cost()
	return wait
}

func (b *budgetBackOff) prepare(time.Duration) { b.paid, b.retried, b.refused = 0, false, false }

func (b *budgetBackOff) abandon() error {
	b.budget.put(b.paid)
	b.paid, b.retried = 0, false
	if b.refused {
		return ErrBudgetExhausted
	}
	return nil
}
