package httpretry

import (
	"context"
	"errors"
	"net/http"
)

// A verdict is around the error of an attempt, and tells the Retrier whether the attempt was late. The Retrier takes it
// off before anybody else sees the error. It does so only if nothing is around the verdict, not even a Permanent.
type verdict struct {
	error
	late bool
}

func (v verdict) LateAttempt() bool { return v.late }
func (v verdict) Unwrap() error     { return v.error }

// judge returns err, what the last attempt has returned, with a verdict if the Retrier would not find the right one by
// itself. To the Retrier, an attempt is late that fails when its context's time is over, or whose error says that time
// ran out, as a timeoutError does.
func (c *call) judge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	resp := c.last.response
	gaveUp := resp != nil && resp.StatusCode == http.StatusGatewayTimeout // somebody behind it goes on working
	progressed := ctx.Err() != nil && c.request.Context().Err() == nil && !timedOut(err)
	if gaveUp || progressed {
		return verdict{err, gaveUp}
	}
	return err
}

// timedOut reports whether err says that time ran out.
func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}
