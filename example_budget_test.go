package backoff_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

// All loops that call one service share one budget. This service is down. Each
// loop makes its first call, and the budget pays for four retries in all.
func ExampleWithBudget() {
	budget := &backoff.Budget{Capacity: 20, RetryCost: 5}

	var calls atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 10)
			_ = backoff.Retry(func() error {
				calls.Add(1)
				return errors.New("service down")
			}, backoff.WithBudget(policy, budget))
		}()
	}
	wg.Wait()
	fmt.Println("10 operations,", calls.Load(), "calls") // without the budget, 110
	// Output:
	// 10 operations, 14 calls
}
