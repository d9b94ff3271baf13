// Package grpcretry is a unary gRPC client interceptor that retries.
//
// A call of a method that [Options.Idempotent] names is sent again if its attempt ended with codes.Unavailable, or
// with codes.DeadlineExceeded, as it does after [Options.AttemptTimeout]. [Options.Retryable] changes that.
//
// Other codes are returned immediately: the request is wrong, or nobody knows whether another attempt would help
// (Unknown, Internal), or, as with Aborted, more than this call must be repeated. ResourceExhausted may stand for a
// quota that is used up for the day; let Retryable accept it if the service means "slow down".
//
// Each code that is retried may come after the server has done the work, even Unavailable: name only methods for
// which twice is the same as once. Any other call is sent once, and never cut off; gRPC itself repeats it if it
// never left the client. Streams are not retried.
//
// While a connection is down, gRPC redials it after waits of its own, a second at first. Until it is up again, each
// attempt fails immediately. With [grpc.WaitForReady] an attempt waits for the connection instead. If a service
// config has a retry policy, turn it off by [grpc.WithDisableRetry], so that only one layer retries.
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

// Defaults for the fields of [Options].
const (
	defaultAttemptTimeout = 30 * time.Second
	defaultMaxRetryAfter  = time.Minute
)

// Options are the settings of an interceptor. The fields that a [backoff.Retrier] also has mean the same here. Their
// functions must be safe for concurrent use.
type Options struct {
	// Idempotent reports whether a method, such as "/grpc.health.v1.Health/Check", may be repeated.
	// Nil means that none may.
	Idempotent func(method string) bool

	// AttemptTimeout limits each attempt of a call that may be repeated. Zero means 30 s, a negative value
	// no limit. The deadline of the call's context limits all of them together, waits included.
	AttemptTimeout time.Duration

	// Slots limits the calls in progress, those that are sent once too. Nil means no limit. A call that gets
	// no slot in time ends with codes.ResourceExhausted and matches [backoff.ErrNoSlot]. In time means that its
	// deadline leaves it the whole AttemptTimeout, also if it is sent once.
	Slots *backoff.Slots

	// MaxRetries limits the retries of a call. A negative value means none. Zero means 4, or as many as
	// the policy allows if Policy returns one.
	MaxRetries int

	// MaxRetryAfter is the longest wait that a server may ask for. If it asks for more, its status is
	// returned immediately. Zero means one minute; with a negative value, each status that asks for a
	// wait is returned.
	MaxRetryAfter time.Duration

	// Policy returns a new policy for each call. Nil, or a Policy that returns nil, means full jitter within
	// a minute. A wait that the server asks for counts against its MaxElapsedTime.
	Policy func() backoff.BackOff

	// Retryable reports whether to try again after err, which has a status. Nil means the function
	// [Retryable], which it can call.
	Retryable func(err error) bool

	// Budget pays for the retries. Share it with other clients of the same service. If the policy has the
	// same budget already, a retry is paid for once. Nil means a zero Budget of the interceptor's own or,
	// with Slots, no budget.
	//
	// A fresh budget pays for five retries, whoever makes them. Then it refuses retries, until calls
	// succeed again. If MaxRetries is ten, the default budget ends them after five.
	Budget *backoff.Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which
	// counts from 1, its error, and the wait.
	Notify func(ctx context.Context, method string, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called at the end of each call, with the number of attempts and the error that
	// the call returns. The number is 0 if the call got no slot, or if its context had ended.
	Done func(ctx context.Context, method string, attempts int, err error)
}

// UnaryClientInterceptor returns an interceptor that repeats a call as o says. The wait before a
// retry is no shorter than the RetryInfo in the status's details asks for, nor than the trailer
// grpc-retry-pushback-ms does. As with gRPC's own retry, a pushback that is negative, not a number, or
// sent twice means that the call must not be repeated.
//
// Call options apply to each attempt: what [grpc.Header] and [grpc.Trailer] fill in is the last attempt's, and a
// function given by [grpc.OnFinish] runs once for each of them. Options.Done runs once for each call.
//
// If it gives up, the call returns the last attempt's status, unchanged. If the budget refused a retry, or a
// wait would outlast the call's deadline, the error has the status's code and details, and matches
// [backoff.ErrBudgetExhausted] or [context.DeadlineExceeded] as well; no such wait starts, not even the first. If
// the call's context has ended, its code is Canceled or DeadlineExceeded, and it matches the last attempt's status
// too.
func UnaryClientInterceptor(o Options) grpc.UnaryClientInterceptor {
	if o.Budget == nil && o.Slots == nil {
		o.Budget = new(backoff.Budget)
	}
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		c := &call{options: &o, ctx: ctx, method: method}
		c.send = func(ctx context.Context, opts ...grpc.CallOption) error {
			return invoke(ctx, method, req, reply, cc, opts...)
		}

		err := c.run(o.Idempotent != nil && o.Idempotent(method), opts)
		if o.Done != nil {
			o.Done(ctx, method, c.attempts, err)
		}
		return err
	}
}

// Retryable is the rule that decides whether a call that may be repeated is sent again after an attempt that ended
// with err: codes.Unavailable and codes.DeadlineExceeded are.
func Retryable(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// A call is all attempts of one call.
type call struct {
	options  *Options
	ctx      context.Context
	method   string
	send     func(ctx context.Context, opts ...grpc.CallOption) error // makes an attempt
	attempts int
	last     error // of the last attempt
}

// run sends a call, and again as often as that may help if it is idempotent.
func (c *call) run(idempotent bool, opts []grpc.CallOption) error {
	retrier := backoff.Retrier{
		AttemptTimeout: cmp.Or(c.options.AttemptTimeout, defaultAttemptTimeout),
		Slots:          c.options.Slots,
		MaxRetries:     c.options.MaxRetries,
		MaxRetryAfter:  c.options.MaxRetryAfter,
		Policy:         c.options.Policy,
		Budget:         c.options.Budget,
		Notify: func(ctx context.Context, attempt int, err error, wait time.Duration) {
			if c.options.Notify != nil {
				c.options.Notify(ctx, c.method, attempt, err, wait)
			}
		},
	}
	if !idempotent {
		retrier.MaxRetries = -1
	}
	err := retrier.Do(c.ctx, func(ctx context.Context) error {
		if !idempotent && c.options.AttemptTimeout == 0 {
			ctx = c.ctx // by default it is not cut off, since it would not be sent again
		}
		c.attempts++
		forget(opts)
		var trailer metadata.MD
		c.last = c.send(ctx, append(slices.Clip(opts), grpc.Trailer(&trailer))...)
		return c.options.check(c.last, trailer.Get("grpc-retry-pushback-ms"))
	})
	return c.result(err)
}

// forget clears what an earlier attempt has filled in: an attempt without a stream fills in nothing.
func forget(opts []grpc.CallOption) {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.HeaderCallOption:
			*opt.HeaderAddr = nil
		case grpc.TrailerCallOption:
			*opt.TrailerAddr = nil
		}
	}
}

// check marks err as permanent, or with the wait that the server asks for.
func (o *Options) check(err error, pushback []string) error {
	if err == nil {
		return nil
	}
	retryable := Retryable
	if o.Retryable != nil {
		retryable = o.Retryable
	}
	if !retryable(err) {
		return backoff.Permanent(err)
	}

	var wait time.Duration
	for _, detail := range status.Convert(err).Details() {
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
	if wait > max(0, cmp.Or(o.MaxRetryAfter, defaultMaxRetryAfter)) {
		return backoff.Permanent(err)
	}
	return backoff.RetryAfter(err, wait)
}

// result returns what the call returns if its loop ended with err.
func (c *call) result(err error) error {
	if asked, ok := err.(*backoff.RetryAfterError); ok {
		err = asked.Err
	}
	ended := c.ctx.Err()
	s := status.Convert(c.last).Proto()
	switch {
	case err == nil:
		return nil
	case ended != nil && errors.Is(err, ended):
		s = status.FromContextError(ended).Proto()
	case c.attempts == 0: // no slot
		s = status.New(codes.ResourceExhausted, "").Proto()
	case !errors.Is(err, context.DeadlineExceeded): // what is left is a wait of the server's that was refused
		return err
	}
	s.Message = err.Error()
	return &statusError{err, status.FromProto(s)}
}

// statusError gives an error a status.
type statusError struct {
	error
	status *status.Status
}

func (e *statusError) Unwrap() error { return e.error }

func (e *statusError) GRPCStatus() *status.Status { return e.status }
