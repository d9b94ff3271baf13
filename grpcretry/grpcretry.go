// Package grpcretry is a unary gRPC client interceptor that retries, written over [backoff.Retrier].
//
// The fields of its [Options] have the zero values of a Retrier's, but for AttemptTimeout: zero does not limit a call that
// is sent once.
//
//	redial := grpcbackoff.DefaultConfig // of google.golang.org/grpc/backoff
//	redial.MaxDelay = 1500 * time.Millisecond
//
//	conn, err := grpc.NewClient(target,
//		grpc.WithTransportCredentials(creds),
//		grpc.WithConnectParams(grpc.ConnectParams{Backoff: redial, MinConnectTimeout: 5 * time.Second}),
//		grpc.WithDisableRetry(), // gRPC's own: only one layer should retry
//		grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
//			Idempotent:     func(method string) bool { return method == "/orders.v1.Orders/Get" },
//			AttemptTimeout: 2 * time.Second,    // at least four times what a call usually takes
//			Slots:          new(backoff.Slots), // fewer calls while many attempts time out
//		})))
//
// # What is sent again
//
// A call of a method that [Options.Idempotent] names is sent again if its attempt ended with
//
//   - codes.Unavailable, unless no connection can ever be made, as [Retryable] says;
//   - codes.DeadlineExceeded, as it does after [Options.AttemptTimeout];
//   - codes.ResourceExhausted and a RetryInfo that asks for a wait. By that the server says "slow down". Without one,
//     the code may stand for a quota that is used up for the day, or for a message that is too large.
//
// Each of these codes may come after the server has done the work, even Unavailable: name only methods for which twice
// is the same as once. After other codes, the request is wrong, or nobody knows whether another attempt would help
// (Unknown, Internal), or, as with Aborted, more than this call must be repeated.
//
// Any other call is sent once. (gRPC itself sends a call again that never left the client.) Streams are not retried.
//
// # Other interceptors
//
// Chain this interceptor, as above: of two [grpc.WithUnaryInterceptor] the last one counts, and gRPC does not say so. An
// interceptor that stands before this one in the chain, or is set by WithUnaryInterceptor, sees each call once. One that
// stands after it sees each attempt, as a log of attempts must, and one that adds a token. After codes.Unauthenticated
// nothing is sent again: the latter renews the token, and invokes the call again itself. For a failure that another
// attempt may mend, such as one of the token's server, it returns a status with codes.Unavailable. An error without a
// status ends the call, even a context's. Let calls share the fetch of a token, which ends well before AttemptTimeout, as
// in examples/token.
//
// # gRPC's own retries
//
// gRPC retries by itself if a service config has a retryPolicy. Choose that for streams, or if the owner of a service is
// to set the retries of its clients in all languages. A retryPolicy does not limit an attempt: a call that hangs takes
// all the time that its deadline leaves, and is not repeated. It ignores a RetryInfo, and has no Slots. Do not use both,
// since the attempts would multiply.
//
// # A server that restarts
//
// While a connection is down, gRPC redials it after waits of its own, and each attempt fails immediately. By default
// these waits grow to two minutes, and calls go on failing when the server is back. With the MaxDelay above, they are at
// most 1.8 s. With [grpc.WaitForReady] an attempt waits for the connection instead, whatever is wrong with it, and fewer
// calls fail.
//
// # A connection that has died
//
// A retry uses the connection of the attempt before. If the network swallows that without closing it, every attempt
// times out until the connection is given up, which may take many minutes. This client gives it up after twelve seconds
// without an answer:
//
//	grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 2 * time.Second})
//
// If calls or streams are silent for longer than about half a minute, its pings come so often that a gRPC server closes
// the connection, with too_many_pings. For such calls, set a MinTime of five seconds in the server first, with
// [grpc.KeepaliveEnforcementPolicy].
//
// # Install
//
// This package is a module of its own, which go.mod must name beside the library's. With the repository cloned into a
// folder backoff beside your module, import the package, and run in your module:
//
//	go mod edit -require=example.com/backoff@v1.0.0 -replace=example.com/backoff=../backoff
//	go mod edit -require=example.com/backoff/grpcretry@v1.0.0 -replace=example.com/backoff/grpcretry=../backoff/grpcretry
//	go mod tidy
//
// The last line adds gRPC, and raises an older go line in your go.mod to the 1.26.0 that gRPC requires.
package grpcretry

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"example.com/backoff"
)

// Options are the settings of an interceptor. The fields that a [backoff.Retrier] also has mean the same here. The
// zero value sends each call once.
//
// Options are safe for concurrent use if their functions are.
type Options struct {
	// Idempotent reports whether a method, such as "/grpc.health.v1.Health/Check", may be repeated.
	// Nil means that none may.
	Idempotent func(method string) bool

	// AttemptTimeout limits each attempt, also of a call that is sent once. Zero means 30 s, but no limit for a method
	// that must not be repeated. A negative value means no limit. Make it at least four times what a call usually takes.
	// The deadline of the call's context limits all attempts together, waits included.
	AttemptTimeout time.Duration

	// Slots limits the calls in progress, those that are sent once too. new(backoff.Slots) does so only while many
	// attempts end with codes.DeadlineExceeded, whoever says so, or fail when their time is over. A call that gets no slot
	// in time is not sent; see [backoff.Retrier.Do]. Nil means no limit.
	//
	// Take other Slots for another service. Polls that end by their own deadline count as timed out: give them a
	// connection of their own, without Slots.
	Slots *backoff.Slots

	// MaxAttempts limits the attempts of a call, even if Policy would go on. Zero means 4, one means no retries, and a
	// negative value no limit.
	MaxAttempts int

	// MaxRetryAfter is the longest wait that a server may ask for. If it asks for more, the call ends. Zero
	// means one minute, a negative value no limit.
	MaxRetryAfter time.Duration

	// Policy returns a new policy for each call, which says how long to wait. Nil, or a Policy that returns
	// nil, means the waits of a Retrier without one.
	Policy func() backoff.BackOff

	// Retryable reports whether to try again after err, a gRPC status. Nil means the function [Retryable], which
	// it can call. It is not called for a call that is sent once, nor if the call's context has ended the attempt.
	Retryable func(err error) bool

	// Budget limits the retries of all calls that share it, also in other clients of the same service. A new one allows
	// five at first. Nil means no limit.
	Budget *backoff.Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, from 1 on, its error,
	// and the wait. It must not make calls through the same interceptor: a log handler that does so while the log server
	// is down calls itself until the stack overflows.
	Notify func(ctx context.Context, method string, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called at the end of each call, with the number of attempts and the error that
	// the call returns. The number is 0 if the call got no slot, or if its context had ended. Like Notify, it must not
	// make calls through the same interceptor.
	Done func(ctx context.Context, method string, attempts int, err error)
}

// UnaryClientInterceptor returns an interceptor that repeats the calls that o.Idempotent names. The wait before a retry
// is no shorter than the RetryInfo in the status's details asks for, nor than the trailer grpc-retry-pushback-ms does.
// As with gRPC's own retries, a pushback that is negative, not a number, or sent twice forbids another attempt.
//
// From the second attempt on, the reply is cleared before it is filled: by [proto.Reset], or else to the zero value of
// what it points to.
//
// Call options apply to each attempt: what [grpc.Header], [grpc.Trailer] and [grpc.Peer] fill in is the last attempt's,
// or empty if that reached no server. A function given by [grpc.OnFinish] runs once for each attempt, Options.Done once
// for each call.
//
// The error of a call has the code that this table says, and by errors.Is it matches what the table says:
//
//	the call ended because                  code              matches
//	its status is not retried               its own           it is the status itself
//	no retries are left, or the server      the last one's    backoff.ErrRetriesExhausted, the last status
//	asked for more than MaxRetryAfter
//	the budget is empty                     the last one's    backoff.ErrBudgetExhausted, the last status
//	the deadline leaves no time for the     the last one's    context.DeadlineExceeded, the last status
//	wait before another attempt
//	its context has ended                   Canceled or       ctx.Err(), context.Cause(ctx), the last status,
//	                                        DeadlineExceeded  and the one before if ctx ended the last attempt
//	no slot was free in time                ResourceExhausted backoff.ErrNoSlot
//
// With the last one's code it also has its details. The interceptor is safe for concurrent use.
func UnaryClientInterceptor(o Options) grpc.UnaryClientInterceptor {
	if o.Retryable == nil {
		o.Retryable = Retryable
	}

	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		c := &call{ctx: ctx, retrier: o.retrier(method), retryable: o.Retryable}
		err := c.retrier.Do(ctx, func(ctx context.Context) error {
			if c.attempts > 0 {
				reset(reply)
			}
			forget(opts)
			var trailer metadata.MD
			err := invoke(ctx, method, req, reply, cc, append(slices.Clip(opts), grpc.Trailer(&trailer))...)
			return c.attempted(err, trailer)
		})

		err = c.result(err)
		if o.Done != nil {
			o.Done(ctx, method, c.attempts, err)
		}
		return err
	}
}

// Retryable reports whether an idempotent call is sent again after err, by the three codes that the package comment
// names. It is the default of [Options.Retryable].
//
// It says no to codes.Unavailable if no connection can ever be made: the server's name or port is unknown; its
// certificate is not accepted; it refuses the TLS handshake, or answers it without TLS or HTTP/2; it speaks HTTP/1; or a
// proxy refuses to connect, by a status such as 407. Two faults may look like a lost connection, and are tried again: a
// client without TLS before a server with TLS, and, with TLS 1.3, a client certificate that is not accepted.
//
// A resolver that has no address for a moment, as while all servers restart, looks like an unknown name. If yours may, let
// [Options.Retryable] say yes to codes.Unavailable.
func Retryable(err error) bool {
	s := status.Convert(err)
	switch s.Code() {
	case codes.DeadlineExceeded:
		return true
	case codes.Unavailable:
		var own interface{ GRPCStatus() *status.Status }
		errors.As(err, &own)
		return !neverConnects(own.GRPCStatus().Message()) // s.Message() is the text of err, with what is around the status
	case codes.ResourceExhausted:
		return retryInfo(s) > 0
	}
	return false
}

// retrier returns what makes a call of a method.
func (o *Options) retrier(method string) backoff.Retrier {
	r := backoff.Retrier{
		AttemptTimeout: o.AttemptTimeout,
		Slots:          o.Slots,
		MaxAttempts:    o.MaxAttempts,
		MaxRetryAfter:  o.MaxRetryAfter,
		Policy:         o.Policy,
		Budget:         o.Budget,
	}
	if o.Notify != nil {
		r.Notify = func(ctx context.Context, attempt int, err error, wait time.Duration) {
			o.Notify(ctx, method, attempt, err, wait)
		}
	}

	if o.Idempotent == nil || !o.Idempotent(method) {
		r.MaxAttempts = 1
		if r.AttemptTimeout == 0 {
			r.AttemptTimeout = -1
		}
	}
	return r
}

// A call is all attempts of one call.
type call struct {
	ctx       context.Context
	retrier   backoff.Retrier
	retryable func(err error) bool
	attempts  int
	last      error // of the last attempt
}

// reset clears what an earlier attempt has filled in: a codec may add to what it finds, as that of JSON does.
func reset(reply any) {
	if message, ok := reply.(proto.Message); ok {
		proto.Reset(message)
		return
	}
	v := reflect.ValueOf(reply)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v.Elem().SetZero()
	}
}

// forget clears what an earlier attempt has filled in: an attempt that reaches no server fills in nothing.
func forget(opts []grpc.CallOption) {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.HeaderCallOption:
			*opt.HeaderAddr = nil
		case grpc.TrailerCallOption:
			*opt.TrailerAddr = nil
		case grpc.PeerCallOption:
			*opt.PeerAddr = peer.Peer{}
		}
	}
}

// attempted is told how an attempt ended, and returns what the Retrier must know of that: whether err is final, which
// wait the server asks for, and whether the attempt was late.
func (c *call) attempted(err error, trailer metadata.MD) error {
	c.attempts++
	c.last = err
	switch {
	case err == nil:
		return nil
	case c.cutOff(err):
		return err // the Retrier says that ctx has ended, and what the attempt before said
	}

	wait, allowed := serverWait(err, trailer.Get("grpc-retry-pushback-ms"))
	once := c.retrier.MaxAttempts == 1
	if once || !allowed || !c.retryable(err) {
		return judge(backoff.Permanent(err))
	}
	return judge(backoff.RetryAfter(err, wait))
}

// cutOff reports whether ctx has ended, and err says no more than that or that the attempt failed. An answer that is
// final is returned even then.
func (c *call) cutOff(err error) bool {
	return c.ctx.Err() != nil && (status.Code(err) == codes.Canceled || Retryable(err))
}

// serverWait returns the longest wait that the server asks for, and false if the call must not be repeated.
func serverWait(err error, pushback []string) (wait time.Duration, allowed bool) {
	wait = retryInfo(status.Convert(err))
	if len(pushback) == 0 {
		return wait, true
	}

	ms, invalid := strconv.ParseInt(pushback[0], 10, 64)
	if invalid != nil || ms < 0 || len(pushback) > 1 {
		return 0, false
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	return max(wait, time.Duration(min(ms, most))*time.Millisecond), true
}

// retryInfo returns the longest wait that the details of s ask for, or 0.
func retryInfo(s *status.Status) (wait time.Duration) {
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.RetryInfo)
		if ok {
			wait = max(wait, info.GetRetryDelay().AsDuration())
		}
	}
	return wait
}

// result returns what the call returns if the Retrier has ended it with err. In most errors gRPC finds the last
// attempt's status. It finds none if there was no attempt, nor in an error that stands for the context's.
func (c *call) result(err error) error {
	ended := c.ctx.Err()
	switch {
	case err == nil:
		return nil
	case ended != nil && errors.Is(err, ended):
		return withStatus(err, status.FromContextError(ended))
	case c.attempts == 0:
		return withStatus(err, status.New(codes.ResourceExhausted, "no slot"))
	case errors.Is(err, context.DeadlineExceeded):
		return withStatus(err, status.Convert(c.last))
	}
	return err
}

// withStatus returns err with the code and the details of s.
func withStatus(err error, s *status.Status) error {
	p := s.Proto()
	p.Message = err.Error()
	return &statusError{err, status.FromProto(p)}
}

type statusError struct {
	error
	status *status.Status
}

func (e *statusError) Unwrap() error              { return e.error }
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// A verdict is around the error of an attempt that was late, which the Retrier, knowing no codes of gRPC, would not find
// by itself. The Retrier takes it off before anybody else sees the error, but only if nothing is around the verdict, not
// even a Permanent. An outer Retrier would take it for its own.
type verdict struct{ error }

func (v verdict) LateAttempt() bool { return true }
func (v verdict) Unwrap() error     { return v.error }

// judge returns err, with a verdict if its code says that an attempt's time was over. A server says it too, of a call of
// its own, and behind that somebody may still be working.
func judge(err error) error {
	if status.Code(err) == codes.DeadlineExceeded {
		return verdict{err}
	}
	return err
}
