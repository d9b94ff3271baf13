package backoff

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestZeroBudgetIsFull(t *testing.T) {
	var budget Budget
	require.Equal(t, DefaultBudgetCapacity, budget.Tokens())
	budget.Deposit()
	require.Equal(t, DefaultBudgetCapacity, budget.Tokens(), "never above capacity")
	require.True(t, budget.Withdraw())
	require.Equal(t, DefaultBudgetCapacity-DefaultRetryCost, budget.Tokens())
}

// The published figures of the AWS SDKs' retry quota: 500 tokens at 5 a retry.
func TestAHundredRetriesThenOneForEachSuccess(t *testing.T) {
	budget := new(Budget)
	fail := func() (calls int) {
		operation, n := failing(-1)
		require.Same(t, errFailed, Retry(operation, WithBudget(WithMaxRetries(&ZeroBackOff{}, 1), budget)))
		return *n
	}
	for range 100 {
		require.Equal(t, 2, fail())
	}
	require.Equal(t, 1, fail(), "the 101st is not retried")
	require.Zero(t, budget.Tokens())

	operation, _ := failing(0)
	require.NoError(t, Retry(operation, WithBudget(nil, budget)))
	require.Equal(t, 2, fail(), "one success buys one retry")
	require.Equal(t, 1, fail())
}

func TestBudgetIsNotChargedWithoutARetry(t *testing.T) {
	for name, policy := range map[string]BackOff{
		"policy stops": &StopBackOff{},
		"permanent":    &ZeroBackOff{},
	} {
		budget := new(Budget)
		_ = Retry(func() error {
			if name == "permanent" {
				return Permanent(errFailed)
			}
			return errFailed
		}, WithBudget(policy, budget))
		require.Equal(t, DefaultBudgetCapacity, budget.Tokens(), name)
	}
}

func TestBudgetThatCannotPayLeavesOthersUncharged(t *testing.T) {
	rich, empty := new(Budget), &Budget{Capacity: -1}
	operation, calls := failing(-1)
	require.Same(t, errFailed, Retry(operation, WithBudget(foreign{WithBudget(&ZeroBackOff{}, rich)}, empty)))
	require.Equal(t, 1, *calls)
	require.Equal(t, DefaultBudgetCapacity, rich.Tokens())
}

func TestBudgetFields(t *testing.T) {
	for name, test := range map[string]struct {
		budget                      *Budget
		full, withdrawals, refilled int
	}{
		"small":              {&Budget{Capacity: 7, RetryCost: 2, SuccessRefund: 3}, 7, 3, 4},
		"capacity negative":  {&Budget{Capacity: -1}, 0, 0, 0},
		"cost negative":      {&Budget{RetryCost: -1}, 500, 1000, 500},
		"refund negative":    {&Budget{SuccessRefund: -1}, 500, 100, 0},
		"refund too large":   {&Budget{Capacity: 10, SuccessRefund: math.MaxInt}, 10, 2, 10},
		"cost too large":     {&Budget{Capacity: 10, RetryCost: 11}, 10, 0, 10},
		"cost is all":        {&Budget{Capacity: 10, RetryCost: 10}, 10, 1, 5},
		"as large as can be": {&Budget{Capacity: math.MaxInt, RetryCost: math.MaxInt}, math.MaxInt, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.full, test.budget.Tokens())
			n := 0
			for n < 1000 && test.budget.Withdraw() {
				n++
			}
			require.Equal(t, test.withdrawals, n)
			test.budget.Deposit()
			require.Equal(t, test.refilled, test.budget.Tokens())
		})
	}
}

// 64 goroutines withdraw and deposit; no token is lost or made.
func TestBudgetIsExactUnderContention(t *testing.T) {
	const goroutines, rounds = 64, 2000
	budget := &Budget{Capacity: goroutines * rounds * 5, SuccessRefund: 2}
	var group sync.WaitGroup
	for range goroutines {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range rounds {
				if !budget.Withdraw() {
					panic("the bucket has enough for all")
				}
				if i%2 == 0 {
					budget.Deposit()
				}
			}
		}()
	}
	group.Wait()
	require.Equal(t, goroutines*rounds/2*2, budget.Tokens())
}

// From a bucket for 1000 retries, 64 goroutines together get exactly 1000.
func TestBudgetNeverOverdraws(t *testing.T) {
	budget := &Budget{Capacity: 5004}
	var group sync.WaitGroup
	got := make(chan int, 64)
	for range 64 {
		group.Add(1)
		go func() {
			defer group.Done()
			n := 0
			for budget.Withdraw() {
				n++
			}
			got <- n
		}()
	}
	group.Wait()
	close(got)
	total := 0
	for n := range got {
		total += n
	}
	require.Equal(t, 1000, total)
	require.Equal(t, 4, budget.Tokens())
}

// stubborn is a decorator that goes on, whatever the policy below says or whether it is asked.
type stubborn struct {
	foreign
	asks bool
}

func (s stubborn) NextBackOff() time.Duration {
	if s.asks {
		s.BackOff.NextBackOff()
	}
	return time.Hour
}

func TestBudgetGetsBackNoMoreThanWasPaid(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, asks := range []bool{true, false} {
		budget := &Budget{Capacity: 5}
		require.True(t, budget.Withdraw())
		b := stubborn{foreign{WithBudget(&ZeroBackOff{}, budget)}, asks}
		require.ErrorIs(t, Retry(func() error { return errFailed }, WithContext(b, ctx)), context.DeadlineExceeded)
		require.Zero(t, budget.Tokens())
	}
}
