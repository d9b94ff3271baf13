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
	budgetTrial  = time.Minute     // without success or retry, until one that waits is made unpaid
)

// ErrBudgetExhausted is in the error of a loop that a [Budget] has stopped.
var ErrBudgetExhausted = errors.New("retry budget exhausted")

// Budget limits the retries of many loops together, so that they do not keep an overloaded service down.
// It is a token bucket: a retry takes tokens out, a success puts some in. A retry that the bucket cannot
// pay for is not made ([WithBudget]) or waits ([WithBudgetWait]).
//
// The bucket sizes itself. Full, it holds the cost of a retry for each success of the last three seconds
// (one that is t old counts e^(−t/3s)), and of five retries at least. So it shrinks within seconds of an
// outage, and what was spent beyond these five is forgotten then. In the long run the retries that fail
// again are at most about a fifth of the first attempts that succeed. A success after a retry returns
// what that retry cost. (The costs are those of the AWS SDKs' retry quota until November 2026.)
//
// Five retries are many for a process that sends less than one request per second. Thousands of such
// processes need longer first waits, or Capacity: 5.
//
// Share one Budget among all loops that call the same service. The zero value is ready to use. A Budget
// is safe for concurrent use. It must not be copied, nor its fields changed, after first use.
type Budget struct {
	// Capacity is the fixed number of tokens in a full bucket, which pays for no retry if it is below
	// RetryCost. Zero means that the bucket sizes itself, a negative value an empty bucket.
	Capacity int

	// RetryCost is what a retry takes. Zero means DefaultRetryCost, a negative value nothing.
	RetryCost int

	// SuccessRefund is what a success at the first attempt puts in. Zero means
	// DefaultSuccessRefund, a negative value nothing.
	SuccessRefund int

	// Clock tells how old a success is. Nil means SystemClock; others are for simulations.
	Clock Clock

	mu        sync.Mutex
	spent     int64         // what is missing from a full bucket; may exceed it while it shrinks
	successes float64       // of the last three seconds, by age
	aged      time.Duration // when they were aged
	active    time.Duration // the last success or retry
	first     *time.Time    // the first reading of a Clock other than SystemClock
}

// Withdraw takes RetryCost tokens and reports whether it could; with too few left it takes none. It
// is for loops written by hand, and over a [Ticker]: call it before each retry.
func (b *Budget) Withdraw() bool {
	_, ok := b.take(false)
	return ok
}

// Deposit counts a success and puts in SuccessRefund tokens. Call it after each success in a loop that
// calls Withdraw. Unlike [WithBudget], it does not return what a retry cost.
func (b *Budget) Deposit() { b.succeed(b.refund(), b.refund()) }

// Tokens returns the number of tokens in the bucket.
func (b *Budget) Tokens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, full := b.update()
	return int(min(max(0, full-b.spent), math.MaxInt))
}

// update ages the bucket and returns the time and what a full one holds. It requires mu.
func (b *Budget) update() (now time.Duration, full int64) {
	now = read(b.Clock, &b.first)
	b.aged, b.active = min(b.aged, now), min(b.active, now) // the Clock may have stepped back
	if b.Capacity != 0 {
		return now, int64(max(0, b.Capacity))
	}
	b.successes *= math.Exp(-max(0, now-b.aged).Seconds() / budgetWindow.Seconds()) // the age may overflow
	b.aged = now
	cost := b.cost()
	floor := min(cost, math.MaxInt64/budgetFloor) * budgetFloor
	if b.successes > budgetFloor {
		return now, max(floor, int64(min(float64(cost)*b.successes, math.MaxInt64/2)))
	}
	// Debts are forgotten here alone. If they were whenever the bucket shrinks, they would leak while
	// half of all attempts fail; if never, a process that has spent thousands of tokens at the start
	// of an outage would owe them for hours after it.
	b.spent = min(b.spent, floor)
	return now, floor
}

// take takes what a retry costs and reports what that was and whether the retry may be made. If it can
// wait, one may be made without payment where nothing has happened for a minute: a process in which
// all work waits would otherwise do so forever.
func (b *Budget) take(canWait bool) (paid int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, full := b.update()
	if cost := b.cost(); cost <= full-b.spent {
		paid = cost
	} else if !canWait || now-b.active < budgetTrial {
		return 0, false
	}
	b.spent += paid
	b.active = now
	return paid, true
}

// undo returns what take took for a retry that is not made after all.
func (b *Budget) undo(paid int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, _ := b.update()
	b.spent = max(0, b.spent-paid)
	if paid == 0 { // it was free, and so is another
		b.active = now - budgetTrial
	}
}

// succeed counts a success and puts in tokens, or atFloor while next to nothing succeeds.
func (b *Budget) succeed(tokens, atFloor int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active, _ = b.update()
	if b.Capacity != 0 || b.successes <= budgetFloor {
		tokens = atFloor
	}
	b.successes++
	b.spent = max(0, b.spent-tokens)
}

func (b *Budget) cost() int64   { return int64(max(0, cmp.Or(b.RetryCost, DefaultRetryCost))) }
func (b *Budget) refund() int64 { return int64(max(0, cmp.Or(b.SuccessRefund, DefaultSuccessRefund))) }
