package wait

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
)

func compared() {
	b := backoff.NewExponentialBackOff()
	for !ready() {
		d := b.NextBackOff()
		if d == backoff.Stop {
			return
		}
		time.Sleep(d)
		time.Sleep(max(b.NextBackOff(), time.Second))
	}
}

// A helper may look at the wait.
func helped() {
	b := backoff.NewExponentialBackOff()
	for !ready() {
		d := b.NextBackOff()
		if err := check(d); err != nil {
			return
		}
		time.Sleep(d)

		e := b.NextBackOff()
		if slices.Contains([]time.Duration{backoff.Stop}, e) {
			return
		}
		time.Sleep(e)
	}
}

func check(d time.Duration) error {
	if d == backoff.Stop {
		return context.DeadlineExceeded
	}
	return nil
}

// These never stop, or may never stop.
func endless(limit time.Duration, given backoff.BackOff, opts ...backoff.ExponentialBackOffOpts) {
	field := backoff.NewExponentialBackOff()
	field.MaxElapsedTime = 0
	option := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	literal := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	stopped := backoff.NewExponentialBackOff(backoff.WithRetryStopDuration(time.Hour))
	variable := backoff.NewExponentialBackOff()
	variable.MaxElapsedTime = limit
	decoded := backoff.NewExponentialBackOff()
	_ = json.Unmarshal(nil, decoded)
	unknown := backoff.NewExponentialBackOff(opts...)
	made := newPolicy()
	steady := backoff.NewConstantBackOff(time.Second)
	either := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	if limit > time.Hour {
		either = backoff.NewExponentialBackOff()
	}
	if given == nil {
		given = backoff.NewExponentialBackOff()
	}
	for !ready() {
		time.Sleep(field.NextBackOff())
		time.Sleep(option.NextBackOff())
		time.Sleep(literal.NextBackOff())
		time.Sleep(stopped.NextBackOff())
		time.Sleep(variable.NextBackOff())
		time.Sleep(decoded.NextBackOff())
		time.Sleep(unknown.NextBackOff())
		time.Sleep(made.NextBackOff())
		time.Sleep(steady.NextBackOff())
		time.Sleep(either.NextBackOff())
		time.Sleep(given.NextBackOff())
		time.Sleep(backoff.NewExponentialBackOff().NextBackOff())
	}
}

func newPolicy() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 0
	return b
}

// What ends these loops is in their condition, in their body or before them.
func ended(ctx context.Context, jobs []int, start time.Time) {
	b := backoff.NewExponentialBackOff()
	for range jobs {
		time.Sleep(b.NextBackOff())
	}
	for len(jobs) > 0 {
		time.Sleep(b.NextBackOff())
	}
	for i := 0; ; i++ {
		time.Sleep(b.NextBackOff())
	}
	for ctx.Err() == nil {
		time.Sleep(b.NextBackOff())
	}
	for {
		if time.Since(start) > time.Hour {
			return
		}
		time.Sleep(b.NextBackOff())
	}
}

func deadline(ctx context.Context) {
	b := backoff.NewExponentialBackOff()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		select {
		case <-time.After(b.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}
