package compat_test

import (
	"context"
	"net"
	"sync/atomic"
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

// A grpcCase is a call of gRPC's health service, through an interceptor before grpcretry, grpcretry, and one after
// it. Time is simulated and exact.
type grpcCase struct {
	name    string
	differs string // why, in a few words; empty if grpcretry does what the peer does

	retries  int           // at most, after waits of retryWait
	limit    time.Duration // of an attempt; 0 means the default
	timeout  time.Duration // of the call's context; 0 means none
	failures int           // answers with Unavailable, before a good one
	pause    time.Duration // before each answer
	dead     bool          // there is no server

	attempts int // the calls of the interceptor after
	code     codes.Code
	elapsed  time.Duration
}

const retryWait = 50 * time.Millisecond

// Cases of github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry, after v2.3.3, about unary calls, that
// show what grpcretry's own tests do not. There every method may be repeated unless an option says otherwise; here
// none may, so all rows name theirs.
//
// 5 rows: 4 pass, 1 differs on purpose. The tests of waits are in TestPeerWaits.
//
// Not asked: nine of the eleven tests of streams, which grpcretry does not retry (two are asked as unary calls),
// and those of options of a call, which grpcretry has not, of traces, which it does not write, and of codes and
// Notify, which its own tests ask.
var grpcCases = []grpcCase{
	{
		name:    "TestUnaryWithChainedInterceptors_NoFailure",
		retries: 1, attempts: 1,
	},
	{
		name:    "TestUnaryWithChainedInterceptors_WithRetry",
		retries: 1, failures: 1, attempts: 2, elapsed: retryWait,
	},
	{
		name:    "ExampleWithPerRetryTimeout, the call too long",
		retries: 9, limit: 2 * time.Second, timeout: 5 * time.Second, pause: time.Minute,
		attempts: 3, elapsed: 5 * time.Second, code: codes.DeadlineExceeded,
	},
	{
		name:    "TestServerStream_CallFailsOnOutOfRetries, as a unary call",
		retries: 2, dead: true, attempts: 3, elapsed: 2 * retryWait, code: codes.Unavailable,
	},
	{
		name: "TestServerStream_CallFailsOnDeadlineExceeded, as a unary call", differs: "no wait past the deadline starts",
		retries: 2, timeout: retryWait / 2, dead: true, attempts: 1, code: codes.Unavailable,
	},
}

func TestGRPCMiddleware(t *testing.T) {
	var got tally
	for _, c := range grpcCases {
		got.add(c.differs)
		t.Run(c.name, func(t *testing.T) { synctest.Test(t, c.run) })
	}
	require.Equal(t, tally{same: 4, differs: 1}, got, "the counts in the comment above the table, and here")
}

func (c grpcCase) run(t *testing.T) {
	var before, after int
	conn := c.dial(t, counting(&before), grpcretry.UnaryClientInterceptor(grpcretry.Options{
		Idempotent:     func(method string) bool { return method == healthpb.Health_Check_FullMethodName },
		AttemptTimeout: c.limit,
		MaxRetries:     c.retries,
		Policy:         func() backoff.BackOff { return backoff.NewConstantBackOff(retryWait) },
	}), counting(&after))
	ctx := t.Context()
	if c.timeout > 0 {
		timed, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		ctx = timed
	}

	start := time.Now()
	_, err := healthpb.NewHealthClient(conn).Check(ctx, new(healthpb.HealthCheckRequest))
	require.Equal(t, c.code, status.Code(err), "%v", err)
	require.Equal(t, c.elapsed, time.Since(start), "simulated time")
	require.Equal(t, 1, before, "calls of the interceptor before")
	require.Equal(t, c.attempts, after, "calls of the interceptor after")
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

// dial starts the case's server in memory and returns a connection to it.
func (c grpcCase) dial(t *testing.T, interceptors ...grpc.UnaryClientInterceptor) *grpc.ClientConn {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, &healthServer{grpcCase: c})
	go server.Serve(listener)
	t.Cleanup(server.Stop)

	conn, err := grpc.NewClient("passthrough:///memory",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(interceptors...),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if c.dead {
				return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
			}
			return listener.DialContext(ctx)
		}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// A healthServer is gRPC's health service, which answers as a case says.
type healthServer struct {
	healthpb.UnimplementedHealthServer
	grpcCase
	calls atomic.Int32
}

func (s *healthServer) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	calls := int(s.calls.Add(1))
	select {
	case <-time.After(s.pause):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if calls <= s.failures {
		return nil, status.Error(codes.Unavailable, "no")
	}
	return new(healthpb.HealthCheckResponse), nil
}
