package classify

import (
	"context"
	"database/sql"
	"errors"
	"log"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

type status struct{}

func (*status) Error() string { return "" }

var (
	uploads    backoff.Retrier
	errMissing = errors.New("missing")
)

func wrong(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return errors.As(err, new(*status)) // want `an error of a cancelled call can match this, too: ask for context.Canceled first \[classify\]`
}

func wrongLoop(ctx context.Context, temporary func(err error) bool) bool {
	err := backoff.Retry(func() error { return put(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	return temporary(err) // want `an error of a cancelled call`
}

func right(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return !errors.Is(err, context.Canceled) && temporary(err)
}

func helped(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return over(err) || temporary(err)
}

// An error of that kind may end these loops.
var some = backoff.Retrier{Retryable: temporary}

func final(ctx context.Context, given *backoff.Retrier) bool {
	conflict := sqlretry.Do(ctx, nil, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error { return put(ctx) })
	if temporary(conflict) {
		return true
	}
	if err := given.Do(ctx, put); temporary(err) {
		return true
	}
	if err := some.Do(ctx, put); temporary(err) {
		return true
	}
	err := uploads.Do(ctx, func(ctx context.Context) error { return backoff.Permanent(put(ctx)) })
	return temporary(err)
}

func logged(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return failed(err)
}

func endless() bool {
	err := uploads.Do(context.Background(), put)
	return temporary(err)
}

func put(ctx context.Context) error { return nil }
func temporary(err error) bool      { return errors.As(err, new(*status)) }
func over(err error) bool           { return errors.Is(err, context.Canceled) }
func failed(err error) bool         { log.Print(err); return err != nil }

func wrongOrder(ctx context.Context) int {
	err := uploads.Do(ctx, func(ctx context.Context) error { return backoff.Permanent(put(ctx)) })
	switch {
	case errors.Is(err, errMissing): // want `an error of a cancelled call`
		return 404
	case errors.Is(err, context.Canceled):
		return 499
	}
	return 500
}

func rightOrder(ctx context.Context) bool {
	late := uploads.Do(ctx, put)
	if errors.Is(late, errMissing) {
		return false
	}
	if errors.Is(late, context.DeadlineExceeded) {
		return true
	}
	err := uploads.Do(ctx, put)
	if errors.Is(err, errMissing) || errors.Is(err, context.Canceled) {
		return true
	}
	again := uploads.Do(ctx, put)
	if ctx.Err() != nil || errors.Is(again, context.Canceled) {
		return false
	}
	if errors.Is(again, errMissing) {
		return true
	}
	return errors.Is(again, context.Canceled)
}

func rightLater(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return temporary(err) && ctx.Err() == nil
}

func wrongHelper(ctx context.Context) int {
	first := uploads.Do(ctx, put)
	second := uploads.Do(ctx, put)
	return code(500, first) + code(500, second)
}

func code(other int, err error) int {
	if errors.Is(err, errMissing) { // want `an error of a cancelled call`
		return 404
	}
	if errors.Is(err, context.Canceled) {
		return 499
	}
	return other
}
