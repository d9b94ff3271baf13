// Package grpcretry is a unary gRPC client interceptor that retries, to import or to copy.
//
// A call is retried if its attempt ended with
//   - codes.Unavailable, or a code that Options.Codes names;
//   - codes.DeadlineExceeded, if attempts have a timeout of their own.
//
// Other codes are returned at once. They mean that the request is wrong, that the outcome cannot
// change, or, like Aborted, that more than this call must be repeated. ResourceExhausted may stand
// for a quota that is used up for the day; name it in Codes if the service means "slow down".
//
// Each of these codes may come after the server has done the work, even Unavailable: repeat only
// methods for which twice is the same as once, and name them in Options.Idempotent if that is not
// all of them. Streams are not retried.
//
// While a connection is down, gRPC redials it with waits of its own, a second at first, and until
// then fails each attempt at once. With [grpc.WaitForReady] and an AttemptTimeout an attempt waits
// for the connection instead. If a service config has a retry policy, turn it off by
// [grpc.WithDisableRetry], so that only one layer retries.
package grpcretry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/backoff"
)

// Options are the settings of an interceptor. The zero value is ready to use. Their functions must
// be safe for concurrent use.
type Options struct {
	// Codes are retried besides Unavailable.
	Codes []codes.Code

	// Idempotent reports whether a method, such as "/grpc.health.v1.Health/Check", may be repeated.
	// Nil means that all may: leave it nil only on a connection where that is true.
	Idempotent func(method string) bool

	// AttemptTimeout limits each attempt. The deadline of the call's context limits all of them
	// together, waits included. Zero or negative means no limit.
	AttemptTimeout time.Duration

	// Policy returns a policy for one call. A wait that the server asks for counts against its
	// MaxElapsedTime. Nil means at most 4 retries within a minute, with full jitter.
	Policy func() backoff.BackOff

	// Budget pays for the retries. Share it with other clients of the same service. Nil means a
	// budget of the interceptor's own, with the default values.
	Budget *backoff.Budget

	// Notify, if not nil, is called before the wait for each retry.
	Notify func(ctx context.Context, method string, err error, wait time.Duration)
}

// UnaryClientInterceptor returns an interceptor that repeats a call as o says. The wait before a
// retry is no shorter than the RetryInfo in the status's details asks for.
//
// If it gives up, the call returns the last attempt's status, unchanged. If the budget refused a
// retry, or the wait would have outlasted the call's deadline, the error has the status's code and
// details, and matches [backoff.ErrBudgetExhausted] or [context.DeadlineExceeded] as well. If the
// call's context has ended, its code is Canceled or DeadlineExceeded, and it matches the last
// attempt's status too.
func UnaryClientInterceptor(o Options) grpc.UnaryClientInterceptor {
	o.Budget = cmp.Or(o.Budget, new(backoff.Budget))
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if o.Idempotent != nil && !o.Idempotent(method) {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		err := backoff.RetryNotify(func() error {
			attempt, cancel := ctx, context.CancelFunc(func() {})
			if o.AttemptTimeout > 0 {
				attempt, cancel = context.WithTimeout(ctx, o.AttemptTimeout)
			}
			defer cancel()
			return o.check(invoke(attempt, method, req, reply, cc, opts...))
		}, backoff.WithContext(backoff.WithBudget(o.policy(), o.Budget), ctx), func(err error, wait time.Duration) {
			if o.Notify != nil {
				o.Notify(ctx, method, err, wait)
			}
		})
		if asked, ok := err.(*backoff.RetryAfterError); ok {
			return asked.Err
		}
		if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
			return &contextError{err, status.FromContextError(ended).Code()}
		}
		return err
	}
}

func (o *Options) policy() backoff.BackOff {
	if o.Policy != nil {
		return o.Policy()
	}
	return backoff.WithMaxRetries(backoff.NewExponentialBackOff(
		backoff.WithJitter(backoff.FullJitter), backoff.WithMaxElapsedTime(time.Minute)), 4)
}

// check marks err as permanent, or with the wait that the server asks for.
func (o *Options) check(err error) error {
	s := status.Convert(err)
	switch code := s.Code(); {
	case code == codes.OK:
		return nil
	case code == codes.Unavailable, slices.Contains(o.Codes, code):
	case code == codes.DeadlineExceeded && o.AttemptTimeout > 0: // if it was the call's, the loop ends
	default:
		return backoff.Permanent(err)
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return backoff.RetryAfter(err, info.GetRetryDelay().AsDuration())
		}
	}
	return err
}

// contextError gives the error of a loop that the call's context ended the code that gRPC itself
// gives such a call.
type contextError struct {
	error
	code codes.Code
}

func (e *contextError) Unwrap() error { return e.error }

func (e *contextError) GRPCStatus() *status.Status { return status.New(e.code, e.Error()) }
