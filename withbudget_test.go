//go:build go1.25

package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A retry that the bucket cannot pay for waits for its turn: it is made when a success elsewhere has paid
// for it, unless the policy stops or the context ends before that.
func TestBudgetTurn(t *testing.T) {
	const s, never = time.Second, 1000 * time.Hour
	second := backoff.NewConstantBackOff(s)
	for name, test := range map[string]struct {
		policy backoff.BackOff
		asked  time.Duration // by a server
		paid   time.Duration // when successes pay
		end    time.Duration // of the context
		ends   time.Duration // of the loop: with the retry's success, or with
		err    error
	}{
		"paid in the third wait":         {waits(s, 2*s, 3*s, s), 0, 4 * s, never, 6 * s, nil},
		"a server's wait":                {waits(s, s), 5 * s, 6 * s, never, 6 * s, nil},
		"no hot loop":                    {&backoff.ZeroBackOff{}, 0, s / 4, never, 3 * s / 10, nil},
		"the policy stops":               {waits(s, s), 0, never, never, 2 * s, backoff.ErrBudgetExhausted},
		"retries used up":                {backoff.WithStopCause(backoff.WithMaxRetries(second, 2), errTries), 0, never, never, 2 * s, backoff.ErrBudgetExhausted},
		"context ends in the wait":       {waits(4*s, s), 0, never, 2 * s, 2 * s, context.DeadlineExceeded},
		"context ends in a turn's wait":  {waits(0, 4*s), 0, never, 2 * s, 2 * s, context.DeadlineExceeded},
		"a turn's wait past the context": {waits(s, 4*s), 0, never, 2 * s, s, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				budget := &backoff.Budget{Capacity: 5}
				require.True(t, budget.Withdraw())
				tokens := 0
				if test.err == nil {
					tokens = 5 // which the turn has not taken
					time.AfterFunc(test.paid-1, func() { deposit(budget, 5) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.end)
				defer cancel()
				start := time.Now()
				operation, calls := results(backoff.RetryAfter(errFailed, test.asked), nil)
				err := retry(operation, backoff.WithContext(backoff.WithBudgetWait(test.policy, budget), ctx))
				require.Equal(t, test.ends, time.Since(start))
				require.Equal(t, tokens, budget.Tokens())
				if test.err == nil {
					require.NoError(t, err)
					require.Equal(t, 2, *calls)
					return
				}
				require.ErrorIs(t, err, test.err)
				require.ErrorIs(t, err, errFailed)
				require.Equal(t, 1, *calls)
			})
		})
	}
}

func deposit(budget *backoff.Budget, n int) {
	for range n {
		budget.Deposit()
	}
}

// Each wait for a turn is notified as it is, and no attempt is: neither to observers nor in the numbers
// of Attempts.
func TestBudgetTurnNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, asked := range map[string]time.Duration{"": 0, "a server's": 7 * time.Second} {
			policy := backoff.WithBudgetWait(waits(0, 0, 10*time.Second, 0, 0), &backoff.Budget{Capacity: -1})
			var got []time.Duration
			operation, _ := failing(-1)
			err := backoff.RetryNotify(func() error { return backoff.RetryAfter(operation(), asked) }, policy,
				func(err error, wait time.Duration) {
					require.ErrorIs(t, err, errFailed)
					got = append(got, wait)
				})
			require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
			require.Equal(t, []time.Duration{asked, 100 * time.Millisecond, 10 * time.Second, 100 * time.Millisecond, 100 * time.Millisecond}, got, name)
		}

		heard := &listener{BackOff: backoff.NewConstantBackOff(time.Second)}
		var err error
		start, attempts := time.Now(), 0
		for n := range backoff.Attempts(backoff.WithBudgetWait(heard, &backoff.Budget{Capacity: -1}), &err) {
			attempts++
			require.Equal(t, attempts, n)
			if err = errFailed; n == 3 {
				err = nil
			}
		}
		require.Equal(t, 40*time.Second, time.Since(start), "two unpaid turns")
		heard.log = slices.DeleteFunc(heard.log, func(entry string) bool { return entry == "asked" })
		require.Equal(t, []string{"failed", "failed", "<nil>"}, heard.log)
	})
}

// A turn is free where no attempt has ended for 20 s, or nothing has succeeded and no retry was made for
// a minute, also in a process that is older than that.
func TestBudgetTurnFree(t *testing.T) {
	fails := func(budget *backoff.Budget) {
		_ = backoff.Retry(func() error { return errFailed }, backoff.WithBudget(waits(), budget))
	}
	// Another loop pays at the start and is cancelled at 9 s. What comes back pays for this retry.
	retries := func(budget *backoff.Budget) { require.True(t, budget.Withdraw()) }
	for name, test := range map[string]struct {
		times int // this happens elsewhere, each 15 s
		event func(budget *backoff.Budget)
		want  time.Duration
	}{
		"nothing":             {0, nil, 20 * time.Second},
		"a refusal":           {1, func(budget *backoff.Budget) { budget.Withdraw() }, 20 * time.Second},
		"first attempts fail": {9, fails, 60 * time.Second},
		"a success":           {1, (*backoff.Budget).Deposit, 35 * time.Second},
		"successes":           {9, (*backoff.Budget).Deposit, 75 * time.Second}, // the fifth pays
		"a retry":             {1, retries, 35 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				time.Sleep(30 * 365 * 24 * time.Hour) // or SystemClock would be before its start
				budget := &backoff.Budget{Capacity: -1}
				if name == "a retry" {
					budget.Capacity = 5
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(9*time.Second, cancel)
					go func() {
						_ = retry(func() error { return errFailed }, backoff.WithContext(backoff.WithBudget(waits(time.Hour), budget), ctx))
					}()
					synctest.Wait()
				}
				for i := range test.times {
					time.AfterFunc(time.Duration(i+1)*15*time.Second-1, func() { test.event(budget) })
				}
				start := time.Now()
				operation, calls := failing(1)
				require.NoError(t, retry(operation, backoff.WithBudgetWait(backoff.NewConstantBackOff(time.Second), budget)))
				require.Equal(t, 2, *calls)
				require.Equal(t, test.want, time.Since(start))
			})
		})
	}
}

// turns starts n loops at once whose first attempts fail, and returns how many of them make a retry after
// the first wait. Its outcome is last.
func turns(budget *backoff.Budget, n int, last error) int {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	var made atomic.Int64
	each(n, 0, func() backoff.BackOff {
		return backoff.WithContext(backoff.WithBudgetWait(backoff.NewConstantBackOff(time.Second), budget), ctx)
	}, func(first bool) error {
		if first {
			return errFailed
		}
		made.Add(1)
		return last
	}, nil)
	return int(made.Load())
}

// Five successes at the first attempt are a turn. They are saved up to a fifth of a full bucket, and to
// one turn at least.
func TestBudgetTurnSaved(t *testing.T) {
	for name, test := range map[string]struct {
		budget *backoff.Budget
		each   time.Duration
		n      int
		want   int
	}{
		"four":              {&backoff.Budget{}, 0, 4, 0},
		"five":              {&backoff.Budget{}, 0, 5, 1},
		"a hundred and one": {&backoff.Budget{}, 0, 101, 20},
		"one per second":    {&backoff.Budget{}, time.Second, 100, 1},
		"ten per second":    {&backoff.Budget{}, time.Second / 10, 100, 5}, // a fifth of 29, by age
		"fixed":             {&backoff.Budget{Capacity: 100}, 0, 100, 4},
		"fixed, too small":  {&backoff.Budget{Capacity: 4}, 0, 100, 1},
		"refund 5":          {&backoff.Budget{SuccessRefund: 5}, 0, 3, 1},
		"refund 2, cost 10": {&backoff.Budget{SuccessRefund: 2, RetryCost: 10}, 0, 5, 1},
		"no refund":         {&backoff.Budget{SuccessRefund: -1}, 0, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &manual{}
				test.budget.Clock = clock
				for range test.n {
					clock.advance(test.each)
					test.budget.Deposit()
				}
				spend(test.budget)
				require.Equal(t, test.want, turns(test.budget, 50, backoff.Permanent(errFailed)))
			})
		})
	}
}

// Where no first attempt has succeeded for 20 s, a retry that succeeds pays for two turns, up to what a
// full bucket holds, and to one at least. Otherwise it pays for none.
func TestBudgetTurnAlone(t *testing.T) {
	for alone, want := range map[time.Duration]int{20*time.Second - 1: 0, 20 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			clock := &manual{}
			budget := &backoff.Budget{Clock: clock}
			budget.Tokens() // the hour after it is no success's
			clock.advance(time.Hour)
			deposit(budget, 5)
			clock.advance(alone)
			spend(budget)
			require.Equal(t, 1, turns(budget, 1, nil))
			spend(budget)
			require.Equal(t, want, turns(budget, 50, backoff.Permanent(errFailed)))
		})
	}
	for wait, want := range map[time.Duration]int{0: 99, time.Minute: 5} {
		synctest.Test(t, func(t *testing.T) {
			clock := &manual{}
			budget := &backoff.Budget{Clock: clock}
			deposit(budget, 5)
			clock.advance(20 * time.Second)
			for range 100 {
				spend(budget)
				require.Equal(t, 1, turns(budget, 1, nil))
			}
			clock.advance(wait)
			spend(budget)
			require.Equal(t, want, turns(budget, 500, backoff.Permanent(errFailed)), "what is saved shrinks with the bucket")
		})
	}
}

// Of two budgets that make a retry wait, both pay or neither does; so it is with one that refuses.
func TestBudgetTurnTwo(t *testing.T) {
	second := backoff.NewConstantBackOff(time.Second)
	for name, wrap := range map[string]func(x, y *backoff.Budget) backoff.BackOff{
		"one order": func(x, y *backoff.Budget) backoff.BackOff {
			return backoff.WithBudgetWait(backoff.WithBudgetWait(second, x), y)
		},
		"the other": func(x, y *backoff.Budget) backoff.BackOff {
			return backoff.WithBudgetWait(backoff.WithBudgetWait(second, y), x)
		},
	} {
		t.Run(name, func(t *testing.T) { testBudgetTurnTwo(t, wrap) })
	}
}

func testBudgetTurnTwo(t *testing.T, wrap func(x, y *backoff.Budget) backoff.BackOff) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		full, empty, refusing := &backoff.Budget{Capacity: 10}, &backoff.Budget{Capacity: 5}, &backoff.Budget{Capacity: 20}
		require.True(t, empty.Withdraw())
		b := backoff.WithBudget(wrap(full, empty), refusing)
		time.AfterFunc(10*time.Second-1, func() {
			require.Equal(t, []int{10, 15}, []int{full.Tokens(), refusing.Tokens()}, "paid back after each wait")
			deposit(empty, 5)
		})
		start := time.Now()
		var at []time.Duration
		operation := func() error {
			if at = append(at, time.Since(start)); len(at) == 3 {
				return backoff.Permanent(errFailed)
			}
			return errFailed
		}
		require.Same(t, errFailed, retry(operation, b))
		// The second call is a turn of the empty one; all have tokens for the third.
		require.Equal(t, []time.Duration{0, 10 * time.Second, 11 * time.Second}, at)
		require.Equal(t, []int{0, 0, 10}, []int{full.Tokens(), empty.Tokens(), refusing.Tokens()})
	})
	// An unpaid turn for which the other budget could not pay is not lost.
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		a, b := &backoff.Budget{Capacity: -1}, &backoff.Budget{Capacity: -1}
		time.AfterFunc(10*time.Second-1, a.Deposit)
		operation, calls := failing(1)
		start := time.Now()
		require.NoError(t, retry(operation, wrap(a, b)))
		require.Equal(t, 2, *calls)
		require.Equal(t, 30*time.Second, time.Since(start))
	})
}

// Loops that wait and loops that are refused share a budget; out of a loop of this package, and below a
// decorator without Unwrap, one that waits is refused as well.
func TestBudgetTurnShared(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		budget := &backoff.Budget{Capacity: 5}
		waiting := func() backoff.BackOff { return backoff.WithBudgetWait(backoff.NewConstantBackOff(time.Second), budget) }
		require.Equal(t, []time.Duration{time.Second, backoff.Stop}, draws(waiting(), 2))
		operation, calls := failing(-1)
		require.Same(t, errFailed, retry(operation, opaque{waiting()}))
		require.Equal(t, 1, *calls)
		require.ErrorIs(t, retry(operation, backoff.WithBudget(waits(0), budget)), backoff.ErrBudgetExhausted)
		require.Panics(t, func() { backoff.NewTicker(waiting()) })

		var group sync.WaitGroup
		group.Go(func() {
			for range 10 {
				time.Sleep(time.Second)
				_ = retry(func() error { return nil }, backoff.WithBudget(waits(), budget))
			}
		})
		operation, calls = failing(1)
		start := time.Now()
		require.NoError(t, retry(operation, waiting()))
		require.Equal(t, 2, *calls)
		require.InDelta(t, 5, time.Since(start).Seconds(), 1, "five successes of the other loop")
		group.Wait()
	})
}

// The success of a retry that the bucket has paid for returns the cost, also if it comes after a turn.
// That of a turn puts in nothing. Both count for the size of the bucket.
func TestBudgetTurnSuccess(t *testing.T) {
	for name, test := range map[string]struct {
		capacity int
		paid     []time.Duration // when, in ms, successes elsewhere pay for a retry; nil if the bucket does
		want     int             // the tokens after the success of the last retry, less those before it
	}{
		"at once":                    {0, nil, 5 + 5},
		"a turn":                     {0, []time.Duration{1000}, 5},
		"fixed, at once":             {50, nil, 5},
		"fixed, a turn":              {50, []time.Duration{1000}, 0},
		"fixed, at once, after that": {50, []time.Duration{1000, 1050}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				budget := &backoff.Budget{Capacity: test.capacity, Clock: &manual{}}
				if test.paid == nil {
					deposit(budget, 5)
				} else {
					spend(budget)
				}
				for _, at := range test.paid {
					time.AfterFunc(at*time.Millisecond, func() { deposit(budget, 5) })
				}
				failures := max(1, len(test.paid))
				operation, calls := failing(failures)
				before := 0
				require.NoError(t, retry(func() error {
					err := operation()
					before = budget.Tokens()
					return err
				}, backoff.WithBudgetWait(backoff.NewConstantBackOff(300*time.Millisecond), budget)))
				require.Equal(t, failures+1, *calls)
				require.Equal(t, test.want, budget.Tokens()-before)
			})
		})
	}
}

// A policy that stops after a retry that was paid for, although it had to wait, is the reason itself.
func TestBudgetTurnStop(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		budget := &backoff.Budget{Capacity: 5}
		require.True(t, budget.Withdraw())
		time.AfterFunc(400*time.Millisecond, func() { deposit(budget, 5) })
		operation, calls := failing(-1)
		policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(300*time.Millisecond), 2)
		require.Same(t, errFailed, retry(operation, backoff.WithBudgetWait(policy, budget)))
		require.Equal(t, 2, *calls)
	})
}

// FuzzAttempts with a budget that makes retries wait: random scripts in a bubble, as its waits are real.
func TestBudgetTurnScripts(t *testing.T) {
	random := seeded()
	bytes := func() []byte {
		script := make([]byte, 1+random.IntN(12))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		return script
	}
	for range 5000 {
		wraps, outcomes := bytes(), bytes()
		synctest.Test(t, func(t *testing.T) { compareLoops(t, wraps, outcomes, backoff.WithBudgetWait) })
	}
}

// An outage is a service that is down from and to these times after start, and of whose other calls some
// fail. It has room for all.
type outage struct {
	start    time.Time
	from, to time.Duration
	failing  float64      // the share
	calls    atomic.Int64 // while down
}

func (o *outage) call() error {
	if at := time.Since(o.start); at >= o.from && at < o.to {
		o.calls.Add(1)
		return errFailed
	}
	if rand.Float64() < o.failing {
		return errFailed
	}
	return nil
}

// each starts n loops, one each pause, and waits for them. The operation is told whether it is a loop's
// first attempt. finish, if not nil, is called after each loop.
func each(n int, pause time.Duration, policy func() backoff.BackOff, operation func(first bool) error, finish func(began time.Time, attempts int, err error)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			time.Sleep(time.Duration(i) * pause)
			began, attempts := time.Now(), 0
			err := backoff.Retry(func() error {
				attempts++
				return operation(attempts == 1)
			}, policy())
			if finish != nil {
				finish(began, attempts, err)
			}
		})
	}
	group.Wait()
}

// patient is the policy of work that can wait.
func patient(ctx context.Context, budget *backoff.Budget) backoff.BackOff {
	policy := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	return backoff.WithContext(backoff.WithBudgetWait(policy, budget), ctx)
}

// A batch whose operations all wait, with none to come, is done soon after an outage.
func TestBudgetTurnBatch(t *testing.T) {
	type row struct {
		n       int
		down    time.Duration
		failing float64
		within  time.Duration
	}
	tests := []row{{2000, 5 * time.Second, 0.15, 10 * time.Minute}, {2000, 30 * time.Second, 0, 3 * time.Minute}}
	for _, n := range []int{20, 200, 2000} {
		for _, down := range []time.Duration{5 * time.Second, 2 * time.Minute, 20 * time.Minute} {
			tests = append(tests, row{n, down, 0, 3 * time.Minute})
		}
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d down %v failing %v", test.n, test.down, test.failing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var budget backoff.Budget
				o := &outage{start: time.Now(), to: test.down, failing: test.failing}
				each(test.n, 0, func() backoff.BackOff {
					limit := time.Duration(0)
					if test.down < time.Minute && test.failing == 0 {
						limit = backoff.DefaultMaxElapsedTime // which is enough
					}
					return backoff.WithBudgetWait(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(limit)), &budget)
				}, func(bool) error { return o.call() }, func(_ time.Time, _ int, err error) {
					if err != nil {
						panic(err)
					}
				})
				after := time.Since(o.start) - test.down
				t.Logf("done %v after it, %d calls while down", after, o.calls.Load())
				require.LessOrEqual(t, after, test.within)
				most := test.n + max(5, test.n/10) + int(test.down/(20*time.Second))
				require.LessOrEqual(t, int(o.calls.Load()), most, "first attempts, a full bucket, and one in 20 s")
			})
		})
	}
}

// The workers of a pool come back to the usual rate.
func TestBudgetTurnPool(t *testing.T) {
	const before, pause = time.Minute, 100 * time.Millisecond
	for down, back := range map[time.Duration]time.Duration{15 * time.Second: time.Minute, 10 * time.Minute: 2 * time.Minute} {
		for _, workers := range []int{5, 30, 80} {
			t.Run(fmt.Sprint(workers, " down ", down), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var budget backoff.Budget
					o := &outage{start: time.Now(), from: before, to: before + down}
					ctx, cancel := context.WithTimeout(t.Context(), o.to+back+20*time.Second)
					defer cancel()
					var done atomic.Int64
					var group sync.WaitGroup
					for range workers {
						group.Go(func() {
							for ctx.Err() == nil {
								if backoff.Retry(o.call, patient(ctx, &budget)) == nil && time.Since(o.start) >= o.to+back {
									done.Add(1)
								}
								time.Sleep(pause)
							}
						})
					}
					group.Wait()
					require.GreaterOrEqual(t, int(done.Load()), workers*190, "in the last 20 s")
				})
			})
		}
	}
}

// Where every first attempt fails and every retry succeeds, as with a token that has expired, work is
// done while it arrives.
func TestBudgetTurnRetriesOnly(t *testing.T) {
	for _, pause := range []time.Duration{200 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var budget backoff.Budget
			const arriving = 30 * time.Minute
			o := &outage{start: time.Now(), to: 2 * time.Minute}
			ctx, cancel := context.WithTimeout(t.Context(), arriving)
			defer cancel()
			var late atomic.Int64
			each(int(arriving/pause), pause, func() backoff.BackOff { return patient(ctx, &budget) }, func(first bool) error {
				if err := o.call(); err != nil || first {
					return errFailed
				}
				return nil
			}, func(_ time.Time, _ int, err error) {
				if err != nil {
					late.Add(1)
				}
			})
			require.LessOrEqual(t, int(late.Load()), 10, "the last few")
		})
	}
}

// So it is without an outage, where the bucket pays for most retries and those that wait are few.
func TestBudgetTurnNotStarved(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, 10 * time.Second, 18 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var budget backoff.Budget
			start := time.Now()
			slow := func(first bool) error {
				time.Sleep(time.Second)
				if first {
					return errFailed
				}
				return nil
			}
			policy := func() backoff.BackOff { return patient(t.Context(), &budget) }
			var group sync.WaitGroup
			group.Go(func() { each(int(10*time.Minute/pause), pause, policy, slow, nil) })
			each(20, 0, policy, slow, nil)
			require.Less(t, time.Since(start), 3*time.Minute)
			group.Wait()
		})
	}
}

// Also with a Capacity that pays for no retry, all work that waits is done soon.
func TestBudgetTurnCapacity(t *testing.T) {
	for _, capacity := range []int{-1, 4, 5, 25} {
		synctest.Test(t, func(t *testing.T) {
			budget := &backoff.Budget{Capacity: capacity}
			o := &outage{start: time.Now(), to: time.Minute}
			each(200, 0, func() backoff.BackOff { return patient(t.Context(), budget) }, func(bool) error { return o.call() }, nil)
			require.Less(t, time.Since(o.start), 4*time.Minute, capacity)
		})
	}
}

// Work that comes in bursts saves turns between them: after three minutes its backlog is gone within half
// an hour.
func TestBudgetTurnBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var budget backoff.Budget
		const size, pause = 30, 20 * time.Second
		o := &outage{start: time.Now(), from: 2 * time.Minute, to: 5 * time.Minute}
		var last atomic.Int64
		each(int(time.Hour/pause), pause, func() backoff.BackOff { return &backoff.StopBackOff{} }, func(bool) error {
			each(size, 0, func() backoff.BackOff { return patient(t.Context(), &budget) }, func(bool) error { return o.call() },
				func(began time.Time, attempts int, err error) {
					if attempts > 1 {
						last.Store(int64(time.Since(o.start)))
					}
				})
			return nil
		}, nil)
		require.LessOrEqual(t, time.Duration(last.Load())-o.to, 30*time.Minute)
	})
}

// A batch that waits takes nothing from the retries of requests beside it.
func TestBudgetTurnBeside(t *testing.T) {
	for _, down := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var budget backoff.Budget
			o := &outage{start: time.Now(), from: time.Minute, to: time.Minute + down, failing: 0.1}
			go func() {
				time.Sleep(time.Minute)
				each(1000, 0, func() backoff.BackOff { return patient(t.Context(), &budget) }, func(bool) error { return o.call() }, nil)
			}()
			requests(t, &budget, o, 3, 20*time.Minute, 0.05)
		})
	}
}

// A process that has spent thousands of tokens while much failed is not in debt for hours after it.
func TestBudgetDebtHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var budget backoff.Budget
		each(500*60, time.Second/500, func() backoff.BackOff {
			return backoff.WithBudget(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3), &budget)
		}, func(bool) error { return (&outage{failing: 0.5}).call() }, nil)
		requests(t, &budget, &outage{start: time.Now(), failing: 0.05}, 2, time.Hour, 0.03)
	})
}

// requests makes some each second, with three retries, and requires that after the outage at most this
// share of the retries is refused.
func requests(t *testing.T, budget *backoff.Budget, o *outage, perSecond int, duration time.Duration, most float64) {
	var retries, refused atomic.Int64
	each(perSecond*int(duration.Seconds()), time.Second/time.Duration(perSecond), func() backoff.BackOff {
		return backoff.WithBudget(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3), budget)
	}, func(bool) error { return o.call() }, func(began time.Time, attempts int, err error) {
		if began.Sub(o.start) < o.to {
			return
		}
		retries.Add(int64(attempts - 1))
		if errors.Is(err, backoff.ErrBudgetExhausted) {
			retries.Add(1)
			refused.Add(1)
		}
	})
	t.Logf("%d of %d retries refused", refused.Load(), retries.Load())
	require.LessOrEqual(t, float64(refused.Load()), most*float64(retries.Load()))
}
