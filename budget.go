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
	defaultRetryCost     = 5
	defaultSuccessRefund = 1

	budgetWindow = 3 * time.Second // after so long, 1/e of a success still counts
	budgetFloor  = 5               // the retries that a full bucket pays for at least
)

// ErrBudgetExhausted says that a call of a [Retrier] gave up because its [Budget] refused a retry. Test for it by
// [errors.Is]: the error of [Retrier.Do] also matches that of the last attempt.
var ErrBudgetExhausted = errors.New("retry budget exhausted")

// Budget limits the retries of many calls together, so that retries do not keep a struggling service down. Set one in a
// [Retrier]
//
//   - where you want no [Slots];
//   - where very many processes send little each, less than one call in AttemptTimeout;
//   - where a part of the service may be overloaded while the rest answers quickly.
//
// Elsewhere do without. A budget also ends the retries that bridge a short failure: with two seconds of refusals, most
// calls fail that retries would save. And it refuses the retries of work that can wait, and of failures that are an answer
// of every day, such as the status 429 of a rate limit or the conflicts of transactions.
//
//	var payments = backoff.Retrier{Budget: new(backoff.Budget)}
//
// It is a token bucket: a retry takes tokens out, a success puts some back. While few attempts fail, it pays
// for all retries. When many fail, the bucket runs empty, and further retries are refused: the call ends at once.
//
// A fresh budget pays for five retries, whoever makes them: it starts full. The bucket sizes itself, unless
// Capacity is set. Full, it pays for one retry for each success of about the last three seconds, and for at
// least five. When a success makes the bucket larger, the added room is full. Time alone puts nothing in.
//
// A retry is paid for before its wait. What it took comes back if it succeeds. It also comes back if the retry has no
// outcome: the context ends in the wait, no slot is free after it, or a function panics. A success at the first attempt
// puts in SuccessRefund.
//
// With three retries, a budget starts to refuse them when about 30 % of the attempts fail at random, or when 6 %
// of the operations fail every time, as they do if a part of the service is down. From then on, at a steady load, the
// retries that fail are about a fifth of the first attempts that succeed. In a burst, or where fewer than about two
// attempts per second succeed, they can be as many as those.
//
// Do not share a budget between services: the successes of a healthy service would pay for retries at one that
// is down. Do not use one budget in a call and again in a call inside its operation: each success of the inner
// call would count twice. If each of thousands of processes makes less than one call in AttemptTimeout, set Capacity to 5,
// which pays for one retry in each process.
//
// A loop of your own, or one that a [Ticker] drives, calls Withdraw before each retry and Deposit after each success.
//
// The zero value is ready to use. A Budget is safe for concurrent use. It must not be copied, nor its fields
// changed, after first use.
type Budget struct {
	// Capacity is the number of tokens in a full bucket. Zero means that the bucket sizes itself, a
	// negative value that it is always empty. A bucket that holds less than RetryCost pays for no retry.
	Capacity int

	// RetryCost is the number of tokens that a retry takes. Zero means 5, a negative value none.
	RetryCost int

	// SuccessRefund is the number of tokens that a success at the first attempt puts in. Zero means 1, a negative
	// value none. In a Retrier, a success after a retry puts back what that retry took.
	SuccessRefund int

	mu         sync.Mutex
	missing    int64         // tokens to a full bucket; more than a full bucket holds is a debt
	successes  float64       // each counts exp(−age / budgetWindow)
	lastUpdate time.Duration // when successes was last aged, since epoch
}

// Withdraw takes RetryCost tokens for a retry, and reports whether there were enough; if not, it takes none. A
// [Retrier] calls it.
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

// Deposit puts SuccessRefund tokens into the bucket, for a success. It does not put back what a retry took. A
// [Retrier] calls it.
func (b *Budget) Deposit() { b.put(b.refund(), true) }

// Tokens returns the number of tokens in the bucket.
func (b *Budget) Tokens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.update()
	return int(min(max(0, full-b.missing), math.MaxInt))
}

// settle ends an attempt of a call, which succeeded or has no outcome. What was paid for it comes back. A nil b does
// nothing.
func (b *Budget) settle(paid, success bool) {
	switch {
	case b == nil:
	case paid:
		b.put(b.cost(), success)
	case success:
		b.Deposit()
	}
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

	now := time.Since(epoch)
	age := now - b.lastUpdate
	if age >= agingInterval || age < 0 { // in a test, simulated time may begin before what was real
		b.successes *= math.Exp(-max(0, age.Seconds()) / budgetWindow.Seconds())
		b.lastUpdate = now
	}
	retries := max(budgetFloor, b.successes)
	full = int64(min(retries*float64(b.cost()), math.MaxInt64/4)) // twice that must not overflow

	// A bucket that shrinks may leave more missing than it holds: a debt. At the floor, all debt is forgotten. Above
	// the floor, the debt is limited to one more bucket. If all debt were forgotten whenever the bucket shrinks, half of
	// all attempts could fail for long and still be paid for. If none were, a process that has spent
	// thousands of tokens in an outage would owe them for hours.
	mostMissing := full
	if b.successes > budgetFloor {
		mostMissing = 2 * full
	}
	b.missing = min(b.missing, mostMissing)
	return full
}

func (b *Budget) cost() int64   { return int64(max(0, cmp.Or(b.RetryCost, defaultRetryCost))) }
func (b *Budget) refund() int64 { return int64(max(0, cmp.Or(b.SuccessRefund, defaultSuccessRefund))) }
