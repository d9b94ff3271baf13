//go:build go1.25

package backoff

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// receive takes ticks until the channel is closed, and returns the time of each.
func receive(ticker *Ticker) []time.Duration {
	start := time.Now()
	var ticks []time.Duration
	for range ticker.C {
		ticks = append(ticks, time.Since(start))
	}
	return ticks
}

func TestTickerTicksAtOnceAndAfterEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := NewTicker(waits(time.Second, 0, time.Minute))
		require.Equal(t, []time.Duration{0, time.Second, time.Second, 61 * time.Second}, receive(ticker))
	})
}

func TestTickerTicksOnceWhenThePolicyStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{Stop, -time.Hour} {
			require.Len(t, receive(NewTicker(NewConstantBackOff(wait))), 1)
		}
	})
}

func TestTickerWaitsFromTheMomentATickIsReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := NewTicker(NewConstantBackOff(time.Second))
		defer ticker.Stop()
		start := time.Now()
		time.Sleep(time.Minute)
		require.Equal(t, start, <-ticker.C, "a tick is the time at which its wait was over")
		require.Equal(t, start.Add(61*time.Second), <-ticker.C)
	})
}

func TestTickerTicksOnceEvenIfTheContextIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, b := range []BackOff{
			WithContext(&ZeroBackOff{}, ctx),
			WithMaxRetries(mine{&ZeroBackOff{}, ctx}, 5),
		} {
			ticker := NewTicker(b)
			synctest.Wait()
			require.Len(t, receive(ticker), 1)
		}
	})
}

func TestTickerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		ticker := NewTicker(foreign{WithContext(NewConstantBackOff(40*time.Second), ctx)})
		require.Equal(t, []time.Duration{0, 40 * time.Second}, receive(ticker))
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestTickerEndsWithItsContextInABlockedSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		policy := waits(0, 0, 0)
		ticker := NewTicker(WithContext(policy, ctx))
		<-ticker.C
		synctest.Wait()
		cancel()
		synctest.Wait()
		_, ok := <-ticker.C
		require.False(t, ok)
		require.Equal(t, 1, policy.next, "the policy is not asked again")
	})
}

func TestTickerStop(t *testing.T) {
	for name, received := range map[string]int{"before the first tick": 0, "in a wait": 1, "in a blocked send": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := waits(0, time.Second, time.Second)
				ticker := NewTicker(policy)
				for range received {
					<-ticker.C
				}
				synctest.Wait()
				ticker.Stop()
				_, ok := <-ticker.C
				require.False(t, ok)
				require.Equal(t, received, policy.next, "the policy is not asked again")
				ticker.Stop()
			})
		})
	}
}

// The stop or the context's end comes while the tick is on its way, and a receiver is waiting: all
// is ready at once, and select alone would choose at random.
func TestTickerOffersNoTickAfterItsEnd(t *testing.T) {
	for name, stops := range map[string]bool{"stop": true, "context": false} {
		t.Run(name, func(t *testing.T) {
			for range 1000 {
				synctest.Test(t, func(t *testing.T) {
					ctx, end := context.WithCancel(t.Context())
					timer := new(cancellingTimer)
					ticker := NewTickerWithTimer(WithContext(&ZeroBackOff{}, ctx), timer)
					if stops {
						end = ticker.Stop
					}
					timer.cancel = end
					require.Len(t, receive(ticker), 1)
				})
			}
		})
	}
}

func TestTickerStopFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := NewTicker(&ZeroBackOff{})
		var group sync.WaitGroup
		for range 100 {
			group.Go(ticker.Stop)
			group.Go(func() {
				for range ticker.C {
				}
			})
		}
		group.Wait()
	})
}

func TestAThousandAbandonedTickersLeaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 1000 {
			// Some are abandoned in a wait, others with a second tick on offer.
			b := NewConstantBackOff(time.Duration(i%2) * time.Hour)
			<-NewTicker(WithContext(b, ctx)).C
		}
		synctest.Wait()
		cancel()
		// synctest.Test fails with a deadlock if a goroutine is left.
	})
}

func TestTickerWithTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := new(instantTimer)
		ticker := NewTickerWithTimer(waits(time.Hour, 0, 1), timer)
		require.Equal(t, []time.Duration{0, 0, 0, 0}, receive(ticker))
		require.Equal(t, []time.Duration{time.Hour, 0, 1}, timer.started)
		require.Equal(t, 1, timer.stops)
	})
}

func TestTickerEndsIfItsTimerHasNoChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Len(t, receive(NewTickerWithTimer(&ZeroBackOff{}, new(deafTimer))), 1)
	})
}

func TestTickerWithNilPolicyAndTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := NewTickerWithTimer(nil, nil)
		<-ticker.C
		start := time.Now()
		<-ticker.C
		require.GreaterOrEqual(t, time.Since(start), DefaultInitialInterval/2)
		ticker.Stop()
	})
}

func TestTickerResetsItsPolicyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := waits(1, 2)
		receive(NewTicker(b))
		require.Equal(t, 1, b.resets)
	})
}
