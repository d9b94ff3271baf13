package compat_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

type tick struct {
	at    time.Duration // when it was received
	value time.Duration
	done  bool // the visible context was done
}

type tickerTrace struct {
	ticks []tick
	end   time.Duration // when the receiver found the channel closed
}

func (sc scenario) compareTickers(t *testing.T, s []byte, use func(rule)) {
	sc.policy.ends, sc.policy.changed = 0, 0 // they would be beside the ticker's goroutine
	theirs, ours := v4.tick(sc, use), own.tick(sc, use)
	want := theirs
	for i, tick := range theirs.ticks {
		if i > 0 && tick.done {
			use(ruleTickerDone)
			want = tickerTrace{theirs.ticks[:i], tick.at}
			break
		}
	}
	if !slices.Equal(want.ticks, ours.ticks) || want.end != ours.end {
		t.Fatalf("tickers differ:\nwant %+v\nscript %q\nscenario %+v\nthis library %+v\nv4 %+v", want, s, sc, ours, theirs)
	}
}

// tick receives a tick for each attempt of the scenario, and then stops the ticker. The ticker comes
// to rest before the receiver does anything, so that no two things happen at once.
func (l library) tick(sc scenario, use func(rule)) (tr tickerTrace) {
	began := time.Now()
	var cancels []context.CancelFunc
	cancelAll := func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
	b, visible := l.decorate(l.policy(sc.policy, cancelAll, use), sc, &cancels, use)
	c, stop := l.ticker(b, newTimer(sc, func(time.Duration) {}, false))
	for i := 0; ; i++ {
		value, ok := <-c
		if !ok {
			break
		}
		tr.ticks = append(tr.ticks, tick{time.Since(began), value.Sub(began), visible.Err() != nil})
		synctest.Wait()
		if i >= len(sc.attempts) {
			stop()
			synctest.Wait()
			continue
		}
		if sc.attempts[i].cancels {
			cancelAll()
		}
		time.Sleep(sc.attempts[i].takes)
		synctest.Wait()
	}
	tr.end = time.Since(began)
	cancelAll()
	stop()
	return tr
}
