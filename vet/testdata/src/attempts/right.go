package attempts

import (
	"context"

	"example.com/backoff"
)

func set(ctx context.Context, b backoff.BackOff) (n int, err error) {
	for range backoff.Attempts(b, &err) {
		n, err = fetch(ctx)
	}
	try := func() { n, err = fetch(ctx) }
	for range backoff.Attempts(b, &err) {
		try()
	}
	return n, err
}

func byPointer(ctx context.Context, b backoff.BackOff) (err error) {
	for range backoff.Attempts(b, &err) {
		into(ctx, &err)
	}
	return err
}

func into(ctx context.Context, err *error) { _, *err = fetch(ctx) }
