package classify

import (
	"context"
	"errors"

	"example.com/backoff"
)

type status struct{}

func (*status) Error() string { return "" }

var uploads backoff.Retrier

func upload(ctx context.Context, queue chan string) error {
	err := uploads.Do(ctx, put)
	var s *status
	if errors.As(err, &s) { // want `if ctx has ended, err also matches the last attempt's error: ask for the context's end first \[classify\]`
		queue <- "later"
		return nil
	}
	return err
}

func again(ctx context.Context) bool {
	err := backoff.Retry(func() error { return put(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	return temporary(err) // want `if ctx has ended`
}

func put(ctx context.Context) error { return nil }

func temporary(err error) bool {
	var s *status
	return errors.As(err, &s)
}
