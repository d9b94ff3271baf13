// Package grpcretry is a unary gRPC client interceptor that retries, to import or to copy.
//
// A call of a method that Options.Idempotent names is retried if its attempt ended with
//   - codes.Unavailable, or a code that Options.Codes names;
//   - codes.DeadlineExceeded, if attempts have a timeout of their own.
//
// Other codes are returned immediately: the request is wrong, or nobody knows whether another attempt
// would help (Unknown, Internal), or, as with Aborted, more than this call must be repeated.
// ResourceExhausted may stand for a quota that is used up for the day; name it in Codes if the service
// means "slow down".
//
// Each code that is retried may come after the server has done the work, even Unavailable: name only
// methods for which twice is the same as once. Any other call is passed on as it is; gRPC itself
// repeats it if it never left the client. Streams are not retried.
//
// While a connection is down, gRPC redials it after waits of its own, a second at first. Until it is up
// again, each attempt fails immediately. With [grpc.WaitForReady] and an AttemptTimeout an attempt waits
// for the connection instead. If a service config has a retry policy, turn it off by
// [grpc.WithDisableRetry], so that only one layer retries.
package grpcretry

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"example.com/backoff"
)

// Options are the settings of an interceptor. Their functions must be safe for concurrent use.
type Options struct {
	// Idempotent reports whether a method, such as "/grpc.health.v1.Health/Check", may be repeated.
	// Nil means that none may.
	Idempotent func(method string) bool

	// Codes are retried besides Unavailable.
	Codes []codes.Code

	// AttemptTimeout limits each attempt. The deadline of the call's context limits all of them
	// together, waits included. Zero or negative means no limit.
	AttemptTimeout time.Duration

	// MaxRetryDelay is the longest wait that a server may ask for. If it asks for more, its status is
	// returned immediately. Zero means one minute; it must not be negative.
	MaxRetryDelay time.Duration

	// Policy returns a policy for one call. A wait that the server asks for counts against its
	// MaxElapsedTime. Nil means at most 4 retries within a minute, with full jitter. For calls that can
	// wait, let it return one without a limit of time, make few of them at once, and set Budget to
	// &backoff.Budget{RetryCost: -1}, which refuses nothing.
	Policy func() backoff.BackOff

	// Budget pays for the retries. Share it with other clients of the same service. Nil means a
	// zero Budget of the interceptor's own. If the policy has the same budget already, a retry is paid
	// for once.
	//
	// A fresh budget pays for five retries, whoever makes them. Then it refuses retries, until calls
	// succeed again. If Policy allows ten retries, the default budget ends them after five.
	Budget *backoff.Budget

	// Notify, if not nil, is called before the wait for each retry.
	Notify func(ctx context.Context, method string, err error, wait time.Duration)

	// Done, if not nil, is called at the end of each call that may be retried, with the number of
	// attempts and the error that the call returns.
	Done func(ctx context.Context, method string, attempts int, err error)
}

// UnaryClientInterceptor returns an interceptor that repeats a call as o says. The wait before a
// retry is no shorter than the RetryInfo in the status's details asks for, nor than the trailer
// grpc-retry-pushback-ms does. As with gRPC's own retry, a pushback that is negative, not a number, or
// sent twice means that the call must not be repeated.
//
// Call options apply to each attempt: what [grpc.Trailer] fills in is the last attempt's, and a function
// given by [grpc.OnFinish] runs once for each of them. Options.Done runs once for each call.
//
// If it gives up, the call returns the last attempt's status, unchanged. If the budget refused a
// retry, or the wait would have outlasted the call's deadline, the error has the status's code and
// details, and matches [backoff.ErrBudgetExhausted] or [context.DeadlineExceeded] as well. If the
// call's context has ended, its code is Canceled or DeadlineExceeded, and it matches the last
// attempt's status too.
func UnaryClientInterceptor(o Options) grpc.UnaryClientInterceptor {
	o.Budget = cmp.Or(o.Budget, new(backoff.Budget))
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if o.Idempotent == nil || !o.Idempotent(method) {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		attempts := 0
		var last error // of the last attempt
		err := backoff.RetryNotify(func() error {
			attempts++
			attempt, cancel := ctx, context.CancelFunc(func() {})
			if o.AttemptTimeout > 0 {
				attempt, cancel = context.WithTimeout(ctx, o.AttemptTimeout)
			}
			defer cancel()
			var trailer metadata.MD
			last = invoke(attempt, method, req, reply, cc, append(slices.Clip(opts), grpc.Trailer(&trailer))...)
			return o.check(last, trailer.Get("grpc-retry-pushback-ms"))
		}, backoff.WithContext(backoff.WithBudget(o.policy(), o.Budget), ctx), func(err error, wait time.Duration) {
			if o.Notify != nil {
				o.Notify(ctx, method, err, wait)
			}
		})
		err = result(ctx, err, last)
		if o.Done != nil {
			o.Done(ctx, method, attempts, err)
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
func (o *Options) check(err error, pushback []string) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	switch code := s.Code(); {
	case code == codes.Unavailable, slices.Contains(o.Codes, code):
	case code == codes.DeadlineExceeded && o.AttemptTimeout > 0: // if it was the call's, the loop ends
	default:
		return backoff.Permanent(err)
	}
	var wait time.Duration
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			wait = max(wait, info.GetRetryDelay().AsDuration())
		}
	}
	if len(pushback) > 0 {
		ms, invalid := strconv.ParseInt(pushback[0], 10, 64)
		if invalid != nil || ms < 0 || len(pushback) > 1 {
			return backoff.Permanent(err)
		}
		wait = max(wait, time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond)
	}
	if wait > cmp.Or(o.MaxRetryDelay, time.Minute) {
		return backoff.Permanent(err)
	}
	return backoff.RetryAfter(err, wait)
}

// result returns what the call returns if its loop ended with err after last.
func result(ctx context.Context, err, last error) error {
	if asked, ok := err.(*backoff.RetryAfterError); ok {
		return asked.Err
	}
	s := status.Convert(last).Proto()
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		s = status.FromContextError(ended).Proto()
	} else if !errors.Is(err, context.DeadlineExceeded) { // what is left is a wait that was refused
		return err
	}
	s.Message = err.Error()
	return &contextError{err, status.FromProto(s)}
}

// contextError gives the error of a call that its context or its deadline has ended a status.
type contextError struct {
	error
	status *status.Status
}

func (e *contextError) Unwrap() error { return e.error }

func (e *contextError) GRPCStatus() *status.Status { return e.status }
