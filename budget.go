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
// service that is down. It is a token bucket: a retry withdraws tokens, a success deposits some, and a
// retry that cannot be paid for is not made. (The AWS SDKs' retry quota, as it was until November 2026.)
//
// A success at the first attempt deposits SuccessRefund; a success after a retry returns what that
// retry cost. With the defaults 100 failing retries in a row are allowed and the next is not. In
// the long run the retries that fail again are at most a fifth of the first attempts that succeed.
//
// Share one Budget, through [WithBudget], among all loops that call the same service. The zero value
// is a full bucket with the defaults. A Budget is safe for concurrent use. It must not be copied, nor
// its fields changed, after first use.
type Budget struct {
	// Capacity is the number of tokens in a full bucket. Zero means DefaultBudgetCapacity; a
	// negative value means an empty bucket.
	//
	// A full bucket should pay for what the process sends in a few seconds: RetryCost × requests
	// per second × seconds, but at least five retries. What the full buckets of all processes
	// pay for delays the recovery of a service that was down. The default pays for 100 retries:
	// three seconds of 33 requests a second.
	Capacity int

	// RetryCost is the number of tokens that a retry withdraws. Zero means DefaultRetryCost; a
	// negative value means that retries are free.
	RetryCost int

	// SuccessRefund is the number of tokens that a success at the first attempt deposits. Zero
	// means DefaultSuccessRefund; a negative value means none.
	SuccessRefund int

	spent atomic.Int64 // what is missing from a full bucket; in [0, Capacity]
}

// Withdraw takes RetryCost tokens and reports whether it could; with too few left it takes none. It
// is for loops written by hand, and over a [Ticker]: call it before each retry.
func (b *Budget) Withdraw() bool {
	capacity, cost := b.capacity(), b.cost()
	for spent := b.spent.Load(); cost <= capacity-spent; spent = b.spent.Load() {
		if b.spent.CompareAndSwap(spent, spent+cost) {
			return true
		}
	}
	return false
}

// Deposit puts in SuccessRefund tokens, up to Capacity. Call it after each success in a loop that
// calls Withdraw. It does not return what a retry cost, as [WithBudget] does.
func (b *Budget) Deposit() { b.put(valueOf(b.SuccessRefund, DefaultSuccessRefund)) }

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
func (b *Budget) cost() int64     { return valueOf(b.RetryCost, DefaultRetryCost) }

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
// retry is not begun after all, for example because the context ends during the wait.
//
// A refusal comes at once, after a single call: a loop of your own around [Retry] must wait between its
// rounds, or it spins; the example OuterLoop shows it. [NewTicker] panics on a policy with a budget.
//
// A nil b means [NewExponentialBackOff]. A nil budget panics. The result holds the state of one
// loop; the budget is shared by many.
func WithBudget(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudget called with a nil budget")
	}
	return &budgetBackOff{limit: newLimit(b), budget: budget}
}

type budgetBackOff struct {
	limit
	budget   *Budget
	inLoop   bool  // between a decision of a loop of this package and its end
	refused  bool  // the budget could not pay in this decision
	retrying bool  // the last attempt has failed: the next is a retry
	paid     int64 // since the last attempt
}

func (b *budgetBackOff) Observe(err error) {
	if err == nil && b.retrying {
		b.budget.put(b.paid)
	} else if err == nil {
		b.budget.Deposit()
	}
	b.retrying, b.paid = err != nil, 0
}

// Reset by an operation keeps what its retry has paid.
func (b *budgetBackOff) Reset() {
	if !b.inLoop {
		b.retrying, b.paid = false, 0
	}
	b.BackOff.Reset()
}

func (b *budgetBackOff) NextBackOff() time.Duration {
	wait := b.limit.NextBackOff()
	if b.refused = wait >= 0 && !b.budget.Withdraw(); b.refused {
		return Stop
	}
	if wait >= 0 {
		b.paid += b.budget.cost()
	}
	return wait
}

func (b *budgetBackOff) decide(floor time.Duration) {
	b.limit.decide(floor)
	b.inLoop, b.refused = true, false
}

func (b *budgetBackOff) end(begun bool) {
	if !begun {
		b.budget.put(b.paid)
	}
	b.inLoop, b.retrying, b.paid = false, false, 0
}

func (b *budgetBackOff) stopped(outer error) (error, bool) {
	if b.refused {
		return ErrBudgetExhausted, true
	}
	return b.limit.stopped(outer)
}
