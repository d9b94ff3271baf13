package ticker

import (
	"time"

	"github.com/cenkalti/backoff/v4"
	v7 "github.com/cenkalti/backoff/v7"
)

func received(messages chan string) error {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
	<-ticker.C
	for {
		select {
		case _, ok := <-ticker.C:
			if !ok {
				return nil
			}
			println(&ticker.C)
		case <-messages:
		}
	}
}

// These policies do not stop, or may not.
func endless(policy backoff.BackOff) {
	steady := backoff.NewTicker(backoff.NewConstantBackOff(time.Second))
	exponential := backoff.NewTicker(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)))
	given := backoff.NewTicker(policy)
	later := v7.NewTicker(v7.NewExponentialBackOff())
	either := backoff.NewTicker(backoff.NewExponentialBackOff())
	if policy != nil {
		either = steady
	}
	other := time.NewTicker(time.Second)
	made := newTicker()
	for {
		select {
		case <-steady.C:
		case <-exponential.C:
		case <-given.C:
		case <-later.C:
		case <-either.C:
		case <-other.C:
		case <-made.C:
		}
	}
}

func newTicker() *backoff.Ticker { return backoff.NewTicker(backoff.NewConstantBackOff(time.Second)) }

// These loops end all the same.
func left(done chan int) error {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
	for i := 0; i < 10; i++ {
		<-ticker.C
	}
	for range ticker.C {
		_ = save()
	}
	for {
		select {
		case <-ticker.C:
			return save()
		case <-done:
		}
	}
}

func jumps(done chan int) {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
wait:
	for {
		select {
		case <-ticker.C:
			break wait
		case <-done:
			continue wait
		}
		_ = save()
	}
	for done != nil {
		select {
		case <-done:
			continue
		case <-ticker.C:
			for range 3 {
				continue
			}
			for done == nil {
				continue
			}
		}
		return
	}
}
