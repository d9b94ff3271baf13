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

	budgetWindow = 3 * time.Second  // after so long, 1/e of a success still counts
	budgetFloor  = 5                // the retries that a full bucket pays for at least
	budgetQuiet  = 20 * time.Second // without the end of an attempt, until a turn is free, and see observe
	budgetTrial  = time.Minute      // without a success or a retry, until a turn is free
)

// ErrBudgetExhausted is in the error of a loop that a [Budget] has stopped.
var ErrBudgetExhausted = errors.New("retry budget exhausted")

// Budget limits the retries of many loops together, so that they do not keep an overloaded service down.
// It is a token bucket: retries take tokens out, successes put some in. A retry that it cannot pay for is
// not made ([WithBudget]), or waits for a turn ([WithBudgetWait]): one is free after 20 s without attempts.
//
// Share one among all loops in a process that call the same service, and no other: the successes of a
// healthy service would pay for retries at one that is down. A fixed pool of workers and a connection
// that is kept need none, and in a process that makes a few requests it protects nobody.
//
// The bucket sizes itself. Full, it pays for one retry for each success of about the last three seconds,
// and for five at least. At a steady load, the retries that fail are about a fifth of the first attempts
// that succeed (a third at one request per second where most fail), and another fifth with WithBudgetWait;
// with bursts they can be as many. Where thousands of processes each send less than one request per
// second, five are many: Capacity: 5 is one retry.
//
// The zero value is ready to use. A Budget is safe for concurrent use. It must not be copied, nor its
// fields changed, after first use. (Its costs are those of the AWS SDKs' retry quota.)
type Budget struct {
	// Capacity is the fixed number of tokens in a full bucket, which pays for no retry if it is below
	// RetryCost. Zero means that the bucket sizes itself, a negative value an empty bucket.
	Capacity int

	// RetryCost is what a retry takes. Zero means DefaultRetryCost, a negative value nothing.
	RetryCost int

	// SuccessRefund is what a success at the first attempt puts in. Zero means
	// DefaultSuccessRefund, a negative value nothing.
	SuccessRefund int

	// Clock tells how old a success is, and when a turn is free. Nil means SystemClock; others are
	// for simulations. With one that stands still, no turn is ever free.
	Clock Clock

	mu        sync.Mutex
	spent     int64         // what is missing from a full bucket; may exceed it while it shrinks
	turns     int64         // tokens for retries that wait for a turn
	successes float64       // of the last three seconds, by age
	aged      time.Duration // when they were aged
	direct    time.Duration // the last success at the first attempt
	active    time.Duration // the last success or retry
	heard     time.Duration // the last end of any attempt, or retry; 0 at first
	first     *time.Time    // the first reading of a Clock other than SystemClock
}

// Withdraw takes RetryCost tokens and reports whether it could; with too few left it takes none. It
// is for loops written by hand, and over a [Ticker]: call it before each retry.
func (b *Budget) Withdraw() bool { return b.pay(false) }

// Deposit counts a success and puts in SuccessRefund tokens, as if it were one at the first attempt. Call
// it after each success in a loop that calls Withdraw. It does not return what a retry cost.
func (b *Budget) Deposit() { b.observe(nil, false, false) }

// Tokens returns the number of tokens in the bucket.
func (b *Budget) Tokens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, full := b.update()
	return int(min(max(0, full-b.spent), math.MaxInt))
}

// pay pays for a retry, from the bucket or by a turn, and reports whether it could.
func (b *Budget) pay(turn bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, full := b.update()
	switch {
	case !turn && b.cost() <= full-b.spent:
		b.spent += b.cost()
	case turn && b.cost() <= b.turns:
		b.turns -= b.cost()
	case !turn || now-b.heard < budgetQuiet && now-b.active < budgetTrial:
		return false
	}
	b.active, b.heard = now, now
	return true
}

// undo returns what was paid for a retry that is not made after all. A free turn is saved too.
func (b *Budget) undo(turn bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, full := b.update(); turn {
		b.save(b.cost(), full)
	} else {
		b.spent = max(0, b.spent-b.cost())
	}
}

// observe ends an attempt: a retry if it was paid for, by a turn or from the bucket.
func (b *Budget) observe(err error, paid, turn bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, full := b.update()
	if err == nil || b.heard == 0 { // the minute starts with the first attempt
		b.active = now
	}
	if b.heard = now; err != nil {
		return
	}
	b.successes++
	switch {
	case !paid:
		refund := int64(max(0, cmp.Or(b.SuccessRefund, DefaultSuccessRefund)))
		b.direct = now
		b.spent = max(0, b.spent-refund)
		b.save(refund, full/5)
	case !turn:
		b.spent = max(0, b.spent-b.cost())
	}
	if now-b.direct >= budgetQuiet { // no first attempt pays for turns, so retries must
		b.save(b.cost(), full)
		b.save(b.cost(), full)
	}
}

// update ages the bucket and returns the time and what a full one holds. It and those below require mu.
func (b *Budget) update() (now time.Duration, full int64) {
	now = read(b.Clock, &b.first)
	// The Clock may have stepped back.
	b.aged, b.direct, b.active, b.heard = min(b.aged, now), min(b.direct, now), min(b.active, now), min(b.heard, now)
	if b.Capacity != 0 {
		return now, int64(max(0, b.Capacity))
	}
	b.successes *= math.Exp(-max(0, now-b.aged).Seconds() / budgetWindow.Seconds()) // the age may overflow
	b.aged = now
	full = int64(min(float64(b.cost())*max(budgetFloor, b.successes), math.MaxInt64/4))
	// What was spent beyond the bucket is forgotten at the floor, and elsewhere beyond a second bucket. If
	// it were whenever the bucket shrinks, half of all attempts could fail for long and still be paid for;
	// if never, a process that has spent thousands of tokens in an outage would owe them for hours.
	debt := full
	if b.successes > budgetFloor {
		debt *= 2
	}
	b.spent, b.turns = min(b.spent, debt), min(b.turns, full)
	return now, full
}

// save puts in tokens for retries that wait, up to most, and to one turn at least.
func (b *Budget) save(tokens, most int64) {
	b.turns += min(tokens, max(0, max(most, b.cost())-b.turns))
}

func (b *Budget) cost() int64 { return int64(max(0, cmp.Or(b.RetryCost, DefaultRetryCost))) }
