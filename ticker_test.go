//go:build go1.25

package backoff_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// receive takes ticks until the channel is closed, and returns the time of each.
func receive(ticker *backoff.Ticker) []time.Duration {
	start := time.Now()
	var ticks []time.Duration
	for range ticker.C {
		ticks = append(ticks, time.Since(start))
	}
	return ticks
}

func TestTicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := waits(time.Second, 0, time.Minute)
		ticker := backoff.NewTicker(policy)
		require.Equal(t, []time.Duration{0, time.Second, time.Second, 61 * time.Second}, receive(ticker))
		require.Equal(t, 1, policy.resets)
	})
}

func TestTickerWaitStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := backoff.NewTicker(backoff.NewConstantBackOff(time.Second))
		defer ticker.Stop()
		start := time.Now()
		time.Sleep(time.Minute)
		require.Equal(t, start, <-ticker.C, "a tick is the time at which its wait was over")
		require.Equal(t, start.Add(61*time.Second), <-ticker.C)
	})
	synctest.Test(t, func(t *testing.T) {
		ticker := backoff.NewTicker(waits(0))
		start := time.Now()
		time.Sleep(time.Minute)
		require.Equal(t, start, <-ticker.C)
		require.Equal(t, start.Add(time.Minute), <-ticker.C, "so is that of a wait of zero")
	})
}

func TestTickerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		ticker := backoff.NewTicker(foreign{backoff.WithContext(backoff.NewConstantBackOff(40*time.Second), ctx)})
		require.Equal(t, []time.Duration{0, 40 * time.Second}, receive(ticker))
		require.Equal(t, time.Minute, time.Since(start))
	})
}

// Stop and the context end a ticker in a wait, and while it offers a tick. The policy is not asked again.
func TestTickerStop(t *testing.T) {
	for name, test := range map[string]struct {
		received int
		stops    bool
	}{
		"stop, first tick":     {0, true},
		"stop, second tick":    {1, true},
		"stop, wait":           {2, true},
		"context, second tick": {1, false},
		"context, wait":        {2, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				policy := waits(0, time.Second, time.Second)
				ticker := backoff.NewTicker(backoff.WithContext(policy, ctx))
				end := cancel
				if test.stops {
					end = ticker.Stop
				}
				for range test.received {
					<-ticker.C
				}
				synctest.Wait()
				end()
				synctest.Wait()
				_, ok := <-ticker.C
				require.False(t, ok)
				require.Equal(t, test.received, policy.next)
				end()
			})
		})
	}
}

// The stop or the context's end comes while the tick is on its way, and a receiver is waiting: all
// is ready at once, and select alone would choose at random.
func TestTickerNoTickAfterEnd(t *testing.T) {
	for name, test := range map[string]struct {
		stops    bool
		inPolicy bool // and not in the wait that follows
	}{
		"stop in the wait":      {true, false},
		"context in the wait":   {false, false},
		"stop in the policy":    {true, true},
		"context in the policy": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				synctest.Test(t, func(t *testing.T) {
					ctx, end := context.WithCancel(t.Context())
					policy := asking(func() time.Duration {
						time.Sleep(time.Nanosecond) // meanwhile the receiver comes back
						if test.inPolicy {
							end()
						}
						return 0
					})
					var timer backoff.Timer
					if !test.inPolicy {
						timer = &cancellingTimer{cancel: func() { end() }}
					}
					ticker := backoff.NewTickerWithTimer(backoff.WithContext(policy, ctx), timer)
					if test.stops {
						end = ticker.Stop
					}
					require.Len(t, receive(ticker), 1)
				})
			}
		})
	}
}

func TestTickerStopRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := backoff.NewTicker(&backoff.ZeroBackOff{})
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

func TestTickerLeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 1000 {
			// Some are abandoned in a wait, others with a second tick on offer. (With Go 1.26, the race detector may crash where
			// goroutines of a bubble receive from timers of zero.)
			b := backoff.NewConstantBackOff(time.Second + time.Duration(i%2)*time.Hour)
			<-backoff.NewTicker(backoff.WithContext(b, ctx)).C
		}
		time.Sleep(time.Minute)
		cancel()
		// synctest.Test fails with a deadlock if a goroutine is left.
	})
}

func TestTickerTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := new(instantTimer)
		ticker := backoff.NewTickerWithTimer(waits(time.Hour, 0, 1), timer)
		require.Equal(t, []time.Duration{0, 0, 0, 0}, receive(ticker))
		require.Equal(t, []time.Duration{time.Hour, 0, 1}, timer.started)
		require.Equal(t, 1, timer.stops)
	})
}

func TestTickerTimerWithoutChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := new(nilTimer)
		require.Len(t, receive(backoff.NewTickerWithTimer(&backoff.ZeroBackOff{}, timer)), 1)
		require.Equal(t, 1, timer.stops)
	})
}

func TestTickerNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := backoff.NewTickerWithTimer(nil, nil)
		<-ticker.C
		start := time.Now()
		<-ticker.C
		require.GreaterOrEqual(t, time.Since(start), backoff.DefaultInitialInterval/2)
		ticker.Stop()
	})
}

// A wait that will outlast the deadline is begun nonetheless: a closed channel says no reason, and
// programs ask the context's Err after it.
func TestTickerDeadline(t *testing.T) {
	for _, policy := range []*scripted{waits(time.Hour), waits(1, time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			ticker := backoff.NewTicker(backoff.WithContext(policy, ctx))
			require.Len(t, receive(ticker), len(policy.waits))
			require.Equal(t, time.Minute, time.Since(start))
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		})
	}
}

// The first tick is offered until it is received, also if the context is done.
func TestTickerFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, b := range []backoff.BackOff{
			backoff.WithContext(&backoff.ZeroBackOff{}, ctx),
			backoff.WithMaxRetries(mine{&backoff.ZeroBackOff{}, ctx}, 5),
		} {
			ticker := backoff.NewTicker(b)
			time.Sleep(time.Hour)
			require.Len(t, receive(ticker), 1)
			require.Zero(t, cap(ticker.C))
		}
	})
}

// A custom timer is used for every wait, is stopped when the ticker ends, and gives way to Stop and
// the context.
func TestTickerTimerStop(t *testing.T) {
	for name, stops := range map[string]bool{"stop": true, "context": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				timer := new(brokenTimer)
				ticker := backoff.NewTickerWithTimer(backoff.WithContext(waits(0), ctx), timer)
				<-ticker.C
				synctest.Wait()
				if stops {
					ticker.Stop()
				} else {
					cancel()
				}
				_, ok := <-ticker.C
				require.False(t, ok)
				require.Equal(t, []time.Duration{0}, timer.started)
				require.Equal(t, 1, timer.stops)
			})
		})
	}
}

// A context that is done ends a ticker even if it breaks its contract and has no error.
func TestTickerContextSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := merged{t.Context(), make(chan struct{})}
		close(done.done)
		for _, wait := range []time.Duration{0, time.Hour} {
			policy := asking(func() time.Duration {
				time.Sleep(time.Nanosecond) // meanwhile the receiver comes back, and select alone would choose at random
				return wait
			})
			for range 100 {
				require.Len(t, receive(backoff.NewTicker(backoff.WithContext(policy, silent{done}))), 1)
			}
		}
	})
}
