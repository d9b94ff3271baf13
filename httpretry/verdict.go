package httpretry

import (
	"context"
	"errors"
	"net/http"

	"example.com/backoff"
)

// A verdict is the error of an attempt, for the Retrier. The Retrier looks for a method Late in what is wrapped: it
// decides whether the attempt was late.
//
// Nobody else may find that method. A caller that runs the request in a Retrier of its own has a clock of its own, too.
// So the verdict is withdrawn when the call has ended: what an error wraps, no caller can take out of it.
type verdict struct {
	error
	late      bool
	withdrawn bool
}

// Unwrap returns the error, and on the way to it, until the verdict is withdrawn, what has the method.
func (v *verdict) Unwrap() error {
	if v.withdrawn {
		return v.error
	}
	return lateness{v.error, v.late}
}

type lateness struct {
	error
	late bool
}

func (l lateness) Late() bool    { return l.late }
func (l lateness) Unwrap() error { return l.error }

// judge returns err, the error of the last attempt, with a verdict if the Retrier would not find the right one by
// itself. To the Retrier, an attempt is late that fails when its context's time is over, or whose error says that time
// ran out, as a timeoutError does.
func (c *call) judge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	resp := c.last.response
	gaveUp := resp != nil && resp.StatusCode == http.StatusGatewayTimeout // somebody behind it goes on working
	progressed := ctx.Err() != nil && c.request.Context().Err() == nil && !timedOut(err)
	if !gaveUp && !progressed {
		return err
	}

	v := &verdict{error: err, late: gaveUp}
	c.verdicts = append(c.verdicts, v)
	mark, ok := err.(*backoff.PermanentError)
	if ok && mark.Unwrap() != nil {
		v.error = mark.Unwrap()
		return backoff.Permanent(v)
	}
	return v
}

// timedOut reports whether err says that time ran out.
func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// withdraw withdraws all verdicts, and returns the error with which the Retrier has ended.
func (c *call) withdraw(err error) error {
	for _, v := range c.verdicts {
		v.withdrawn = true
	}
	return withoutVerdict(err)
}

// withoutVerdict returns err as it was before judge.
func withoutVerdict(err error) error {
	if v, ok := err.(*verdict); ok {
		return v.error
	}
	return err
}
