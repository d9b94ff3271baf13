package compat_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

// A grpcCase is a call of gRPC's health service through grpcretry. Time is simulated and exact.
type grpcCase struct {
	name    string
	differs string // why, in a few words; empty if grpcretry does what the peer does

	retries int               // at most, after waits of wait
	wait    time.Duration     // before each retry
	options grpcretry.Options // besides
	timeout time.Duration     // of the call's context; 0 means none
	chained bool              // with interceptors before and after grpcretry
	answers []codes.Code      // of the server; the last one is for all attempts that follow
	pause   time.Duration     // before each answer
	dead    bool              // there is no server

	attempts int // that reached the server, or that were made if there is none
	notified int
	code     codes.Code
	elapsed  time.Duration
	before   int // calls of the chained interceptors
	after    int
}

// TestGRPCMiddleware has the tests of github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry,
// after v2.3.3, about unary calls. There every method may be repeated unless an option says otherwise; here none
// may, so all rows but one name theirs in Idempotent.
//
// 16 rows: 11 pass, 5 differ on purpose. The tests of waits are in TestPeerWaits.
//
// Not asked: nine of the eleven tests of streams, which grpcretry does not retry (two are asked as unary calls),
// TestCallOptionsDontPanicWithoutInterceptor (grpcretry has no call options of its own) and Test_traceFromCtx
// (it writes no traces).
func TestGRPCMiddleware(t *testing.T) {
	var got tally
	for _, c := range grpcCases {
		got.add(c.differs)
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, c.run)
		})
	}
	require.Equal(t, tally{same: 11, differs: 5}, got, "the counts in the comment above this table, and here")
}

const retryWait = 50 * time.Millisecond

var retriable = retryable(codes.DataLoss)

// retryable returns options with which a code is retried too.
func retryable(code codes.Code) grpcretry.Options {
	return grpcretry.Options{Retryable: func(err error) bool {
		return status.Code(err) == code || grpcretry.Retryable(err)
	}}
}

var grpcCases = []grpcCase{
	{
		name:    "TestUnary_FailsOnNonRetriableError",
		retries: 2, options: retriable, answers: []codes.Code{codes.Internal},
		attempts: 1, code: codes.Internal,
	},
	{
		name:    "TestUnary_FailsOnNonRetriableContextError",
		retries: 2, options: retriable, answers: []codes.Code{codes.Canceled},
		attempts: 1, code: codes.Canceled,
	},
	{
		name:    "TestUnary_SucceedsOnRetriableError",
		retries: 2, wait: retryWait, options: retriable, answers: []codes.Code{codes.DataLoss, codes.DataLoss, codes.OK},
		attempts: 3, notified: 2, elapsed: 2 * retryWait,
	},
	{
		name: "TestUnary_OverrideFromDialOpts", differs: "Options are the interceptor's; a call has none",
		options: retryable(codes.ResourceExhausted),
		retries: 4, answers: failing(codes.ResourceExhausted, 4),
		attempts: 5, notified: 4,
	},
	{
		name: "TestUnary_OverrideFromDialOpts2", differs: "codes decide, not the text of an error",
		retries: 4, options: retriable, answers: failing(codes.ResourceExhausted, 4),
		attempts: 1, code: codes.ResourceExhausted,
	},
	{
		name:    "TestUnary_OnRetryCallbackCalled",
		retries: 2, wait: retryWait, answers: failing(codes.Unavailable, 2),
		attempts: 3, notified: 2, elapsed: 2 * retryWait,
	},
	{
		name:    "TestUnary_OnRetryCallbackNotCalledOnNonRetriableError",
		retries: 2, wait: retryWait, answers: failing(codes.Internal, 2),
		attempts: 1, code: codes.Internal,
	},
	{
		name:    "TestUnaryWithChainedInterceptors_NoFailure",
		retries: 1, chained: true, answers: failing(codes.Unavailable, 0),
		attempts: 1, before: 1, after: 1,
	},
	{
		name:    "TestUnaryWithChainedInterceptors_WithRetry",
		retries: 1, chained: true, answers: failing(codes.Unavailable, 1),
		attempts: 2, notified: 1, before: 1, after: 2,
	},

	{
		name: "DefaultRetriableCodes, ResourceExhausted", differs: "it may stand for a quota of the day; let Retryable accept it",
		retries: 2, answers: failing(codes.ResourceExhausted, 2),
		attempts: 1, code: codes.ResourceExhausted,
	},
	{
		name:    "DefaultRetriableCodes, Unavailable",
		retries: 2, answers: failing(codes.Unavailable, 2),
		attempts: 3, notified: 2,
	},
	{
		name: "Example_initialization, no options", differs: "only methods that Idempotent names are repeated",
		retries: 2, options: grpcretry.Options{Idempotent: func(string) bool { return false }}, answers: failing(codes.Unavailable, 2),
		attempts: 1, code: codes.Unavailable,
	},
	{
		name:    "ExampleWithPerRetryTimeout, each attempt too long",
		options: grpcretry.Options{AttemptTimeout: time.Second},
		retries: 2, timeout: 5 * time.Second, pause: time.Minute,
		answers: []codes.Code{codes.OK}, attempts: 3, notified: 2, elapsed: 3 * time.Second, code: codes.DeadlineExceeded,
	},
	{
		name:    "ExampleWithPerRetryTimeout, the call too long",
		options: grpcretry.Options{AttemptTimeout: 2 * time.Second},
		retries: 9, wait: retryWait, timeout: 5 * time.Second, pause: time.Minute,
		answers: []codes.Code{codes.OK}, attempts: 3, notified: 2, elapsed: 5 * time.Second, code: codes.DeadlineExceeded,
	},
	{
		name:    "TestServerStream_CallFailsOnOutOfRetries, as a unary call",
		retries: 2, wait: retryWait, dead: true,
		attempts: 3, notified: 2, elapsed: 2 * retryWait, code: codes.Unavailable,
	},
	{
		name: "TestServerStream_CallFailsOnDeadlineExceeded, as a unary call", differs: "no wait past the deadline starts",
		retries: 2, wait: retryWait, timeout: retryWait / 2, dead: true,
		attempts: 1, code: codes.Unavailable,
	},
}

// failing returns n answers with a code, and then a good one.
func failing(code codes.Code, n int) []codes.Code {
	answers := make([]codes.Code, n, n+1)
	for i := range answers {
		answers[i] = code
	}
	return append(answers, codes.OK)
}

func (c grpcCase) run(t *testing.T) {
	server := c.start(t)
	var notified, attempts int
	o := c.options
	o.Budget = &backoff.Budget{RetryCost: -1}
	o.Policy = func() backoff.BackOff {
		return backoff.WithMaxRetries(backoff.NewConstantBackOff(c.wait), uint64(c.retries))
	}
	o.Notify = func(context.Context, string, int, error, time.Duration) { notified++ }
	o.Done = func(_ context.Context, _ string, n int, _ error) { attempts = n }
	if o.Idempotent == nil {
		o.Idempotent = func(method string) bool { return method == healthpb.Health_Check_FullMethodName }
	}

	var before, after int
	conn := server.dial(t, counting(&before), grpcretry.UnaryClientInterceptor(o), counting(&after))
	ctx := t.Context()
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	start := time.Now()
	_, err := healthpb.NewHealthClient(conn).Check(ctx, new(healthpb.HealthCheckRequest))
	elapsed := time.Since(start)

	require.Equal(t, c.code, status.Code(err), "%v", err)
	require.Equal(t, c.elapsed, elapsed, "simulated time")
	require.Equal(t, c.notified, notified, "calls of Notify")
	if c.dead {
		require.Equal(t, c.attempts, attempts, "attempts")
		return
	}
	require.Equal(t, c.attempts, server.count(), "attempts that reached the server")
	if c.chained {
		require.Equal(t, c.before, before, "calls of the interceptor before")
		require.Equal(t, c.after, after, "calls of the interceptor after")
	}
}

// counting returns an interceptor that counts its calls.
func counting(calls *int) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any,
		cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		*calls++
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// A healthServer is gRPC's health service in memory, which answers as a case says.
type healthServer struct {
	healthpb.UnimplementedHealthServer
	answers  []codes.Code
	pause    time.Duration
	listener *bufconn.Listener // nil if there is no server

	mu    sync.Mutex
	calls int
}

func (c grpcCase) start(t *testing.T) *healthServer {
	s := &healthServer{answers: c.answers, pause: c.pause}
	if c.dead {
		return s
	}
	s.listener = bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, s)
	go server.Serve(s.listener)
	t.Cleanup(server.Stop)
	return s
}

func (s *healthServer) dial(t *testing.T, interceptors ...grpc.UnaryClientInterceptor) *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///memory",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(interceptors...),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if s.listener == nil {
				return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
			}
			return s.listener.DialContext(ctx)
		}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

func (s *healthServer) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s.mu.Lock()
	code := s.answers[min(s.calls, len(s.answers)-1)]
	s.calls++
	s.mu.Unlock()

	select {
	case <-time.After(s.pause):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if code != codes.OK {
		return nil, status.Error(code, "no")
	}
	return new(healthpb.HealthCheckResponse), nil
}

func (s *healthServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
