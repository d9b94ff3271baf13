package ticker

import (
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func work(messages chan string) {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
	defer ticker.Stop()
	ticks := ticker.C
	for {
		select {
		case <-ticker.C: // want `this channel is closed when the policy stops, and the loop goes on without waits: receive with ok \[ticker\]`
			_ = save()
			break
		case now := <-ticks: // want `this channel is closed when the policy stops`
			if save() == nil {
				println(now.String())
				return
			}
			continue
		case <-messages:
		}
	}
}

func connect(done chan int) {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
connect:
	for {
		select {
		case <-ticker.C: // want `this channel is closed when the policy stops`
			if err := save(); err != nil {
				continue
			}
			ticker.Stop()
			break connect
		case <-done:
			break connect
		}
	}
}

func started(done chan int) {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
	select {
	case <-done:
		for save() != nil {
			<-ticker.C // want `this channel is closed when the policy stops`
		}
		return
	}
}

type poller struct{ ticker *own.Ticker }

func newPoller() *poller {
	return &poller{ticker: own.NewTicker(own.WithMaxRetries(own.NewConstantBackOff(time.Second), 5))}
}

func (p *poller) poll() {
	for save() != nil {
		<-p.ticker.C // want `this channel is closed when the policy stops`
	}
}

func save() error { return nil }
