package backoff

import (
	"cmp"
	"errors"
	"math"
	"sync"
	"time"
)

// Defaults for the fields of [Budget].
const (
	DefaultRetryCost     = 5
	DefaultSuccessRefund = 1

	budgetWindow = 3 * time.Second // after so long, 1/e of a success still counts
	budgetFloor  = 5               // the retries that a full bucket pays for at least
)

// ErrBudgetExhausted is what the error of a loop matches, by [errors.Is], if a [Budget] has refused a retry.
var ErrBudgetExhausted = errors.New("retry budget exhausted")

// Budget limits the retries of many loops together, so that retries do not keep a struggling service down.
// Declare one for each service that you call, and share it among all calls to that service:
//
//	var payments backoff.Budget
//
// It is a token bucket: a retry takes tokens out, a success puts some back. While few attempts fail, it pays
// for all retries. When many fail, the bucket runs empty, and further retries are refused: the loop gives
// up at once.
//
// A fresh budget pays for five retries, whoever makes them: it starts full. The bucket sizes itself, unless
// Capacity is set. Full, it pays for one retry for each success of about the last three seconds, and for at
// least five. A success that makes the bucket larger also brings the difference.
//
// With three retries, a budget starts to refuse them when about 30 % of the attempts fail at random, or when 6 %
// of the operations fail every time, as they do if a part of the service is down. From then on, retries that fail
// are at a steady load about a fifth of the first attempts that succeed (a third where only two attempts per second
// succeed). In a burst they can be as many as the
// first attempts that succeed.
//
// Do not share a budget between services: the successes of a healthy service would pay for retries at one that
// is down. Do not use one budget in a loop and again in a loop inside its operation: each success of the inner
// loop would count twice. Work that can wait needs [Slots], or a fixed number of workers, and no budget. If
// thousands of processes each send less than one request per second, set Capacity to 5, which pays for one retry
// in each process.
//
// The zero value is ready to use. A Budget is safe for concurrent use. It must not be copied, nor its fields
// changed, after first use. (Its costs are those of the AWS SDKs' retry quota.)
type Budget struct {
	// Capacity is the number of tokens in a full bucket. Zero means that the bucket sizes itself, a
	// negative value that it is always empty. A bucket that holds less than RetryCost pays for no retry.
	Capacity int

	// RetryCost is what a retry takes. Zero means DefaultRetryCost, a negative value nothing.
	RetryCost int

	// SuccessRefund is what a success at the first attempt puts in. Zero means DefaultSuccessRefund, a
	// negative value nothing. With WithBudget, a success after a retry puts back what that retry took.
	SuccessRefund int

	// Clock tells how old a success is. Nil means SystemClock; others are for simulations.
	Clock Clock

	mu         sync.Mutex
	missing    int64         // tokens, counted from a full bucket; may be more than that holds
	successes  float64       // each counts exp(−age / budgetWindow)
	lastUpdate time.Duration // when successes was last aged, on timeline
	timeline   timeline
}

// Withdraw takes RetryCost tokens for a retry, and reports whether there were enough; if not, it takes none.
// Call it before each retry of a loop that you have written by hand, or that a [Ticker] drives. With
// [WithBudget], the loop pays by itself.
func (b *Budget) Withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.update()
	if full-b.missing < b.cost() {
		return false
	}
	b.missing += b.cost()
	return true
}

// Deposit counts a success, and puts in SuccessRefund tokens. Call it after each success in a loop that calls
// Withdraw. It does not put back what a retry took.
func (b *Budget) Deposit() { b.put(b.refund(), true) }

// Tokens returns the number of tokens in the bucket.
func (b *Budget) Tokens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.update()
	return int(min(max(0, full-b.missing), math.MaxInt))
}

// put puts tokens in, and counts a success if success is true.
func (b *Budget) put(tokens int64, success bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update()
	if success {
		b.successes++
	}
	b.missing = max(0, b.missing-tokens)
}

// update ages the bucket and returns what a full one holds. It requires mu.
func (b *Budget) update() (full int64) {
	if b.Capacity != 0 {
		return int64(max(0, b.Capacity))
	}

	now := b.timeline.read(b.Clock)
	age := max(0, now.Seconds()-b.lastUpdate.Seconds()) // the Clock may have stepped back
	b.successes *= math.Exp(-age / budgetWindow.Seconds())
	b.lastUpdate = now
	retries := max(budgetFloor, b.successes)
	full = int64(min(retries*float64(b.cost()), math.MaxInt64/4)) // twice that must not overflow

	// A bucket that shrinks may leave more missing than it holds: a debt. At the floor, all debt is forgotten;
	// above, what exceeds one more bucket. If all debt were forgotten whenever the bucket shrinks, half of
	// all attempts could fail for long and still be paid for. If none were, a process that has spent
	// thousands of tokens in an outage would owe them for hours.
	mostMissing := full
	if b.successes > budgetFloor {
		mostMissing = 2 * full
	}
	b.missing = min(b.missing, mostMissing)
	return full
}

func (b *Budget) cost() int64   { return int64(max(0, cmp.Or(b.RetryCost, DefaultRetryCost))) }
func (b *Budget) refund() int64 { return int64(max(0, cmp.Or(b.SuccessRefund, DefaultSuccessRefund))) }

// WithBudget allows a retry only if budget can pay for it. If it cannot, the loop gives up immediately; its error
// matches [ErrBudgetExhausted] and the operation's last error:
//
//	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
//	policy = backoff.WithBudget(policy, &payments)
//
// A fresh budget pays for five retries, whoever makes them; see [Budget].
//
// A retry is paid for before its wait. The tokens come back if the retry succeeds, or if it has no outcome, for
// example because the context ends first. (A body of [Attempts] that is left has an outcome.) An empty budget ends
// the loop without a wait: if you call [Retry] again and again in a loop of your own, wait between the calls.
// ExampleWithBudget_outerLoop shows it, in example_test.go.
//
// If b has this budget already, WithBudget returns b: a retry is paid for once. A nil budget panics.
// [NewTicker] panics on a policy with a budget.
func WithBudget(b BackOff, budget *Budget) BackOff {
	if budget == nil {
		panic("backoff: WithBudget called with a nil budget")
	}
	for p := b; p != nil; p = inner(p) {
		if p, ok := p.(*budgetBackOff); ok && p.budget == budget {
			return b
		}
	}
	return &budgetBackOff{decorator: decorator{orDefault(b)}, budget: budget}
}

// budgetBackOff is what WithBudget returns. In a loop of this package it answers as the policy below does,
// and the loop calls pay once it has the final answer.
type budgetBackOff struct {
	decorator
	budget *Budget
	inLoop bool // a loop of this package asks, and calls pay
	paid   bool // for a retry whose outcome is not known yet
}

func (b *budgetBackOff) Observe(err error) {
	switch {
	case err != nil:
		// nothing comes back
	case b.paid:
		b.budget.put(b.budget.cost(), true)
	default:
		b.budget.Deposit()
	}
	b.paid = false
}

// A Reset in a loop, by the operation or a decorator, keeps what the retry has paid.
func (b *budgetBackOff) Reset() {
	if !b.inLoop {
		b.paid = false
	}
	b.BackOff.Reset()
}

// NextBackOff pays by itself where no loop of this package does.
func (b *budgetBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	if wait >= 0 && !b.inLoop && !b.pay() {
		return Stop
	}
	return wait
}

// pay pays for a retry and reports whether it could.
func (b *budgetBackOff) pay() bool {
	b.paid = b.budget.Withdraw()
	return b.paid
}

// What was paid for a retry without an outcome comes back when the loop ends.
func (b *budgetBackOff) calledBy(c caller) {
	b.inLoop = c.isLoop
	if !b.inLoop && b.paid {
		b.budget.put(b.budget.cost(), false)
		b.paid = false
	}
}
