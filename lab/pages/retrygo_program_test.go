package pages_test

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/avast/retry-go/v4"

	"example.com/backoff"
)

var errNotFound = errors.New("not found")

func loadWithRetryGo(ctx context.Context, load func(context.Context) (string, error)) (string, error) {
	return retry.DoWithData(
		func() (string, error) {
			value, err := load(ctx)
			if errors.Is(err, errNotFound) {
				return "", retry.Unrecoverable(err)
			}
			return value, err
		},
		retry.Context(ctx),
		retry.Attempts(5),
		retry.Delay(200*time.Millisecond),
		retry.MaxDelay(time.Second),
		retry.DelayType(retry.BackOffDelay),
		retry.LastErrorOnly(true),
		retry.OnRetry(func(n uint, err error) {
			slog.WarnContext(ctx, "attempt failed", "attempt", n+1, "err", err)
		}),
	)
}

func loadWithBackoff(ctx context.Context, load func(context.Context) (string, error)) (string, error) {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(200*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(time.Second),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(backoff.NoJitter),
	)
	policy := backoff.WithContext(backoff.WithMaxRetries(b, 4), ctx)

	attempts := 0
	return backoff.RetryNotifyWithData(
		func() (string, error) {
			attempts++
			value, err := load(ctx)
			if errors.Is(err, errNotFound) {
				return "", backoff.Permanent(err)
			}
			return value, err
		},
		policy,
		func(err error, wait time.Duration) {
			slog.WarnContext(ctx, "attempt failed", "attempt", attempts, "wait", wait, "err", err)
		},
	)
}
