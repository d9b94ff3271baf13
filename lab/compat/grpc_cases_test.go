package compat_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

// TestGRPCMiddleware has the cases of github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry, after v2.3.3,
// that show what grpcretry's own tests do not: calls through an interceptor before grpcretry, and one after it. There
// every method may be repeated unless an option says otherwise; here none may, so the rows name theirs.
//
// 2 rows, which pass. grpcretry's own tests hold the others, also where it does something else, and those of the
// policies the three of waits. Not asked: nine of the eleven tests of streams, which grpcretry does not retry, and those
// of options of a call, which grpcretry has not, and of traces, which it does not write.
func TestGRPCMiddleware(t *testing.T) {
	const wait = 50 * time.Millisecond
	for _, test := range []struct {
		name     string
		failures int // with Unavailable, before a success
		attempts int
	}{
		{name: "TestUnaryWithChainedInterceptors_NoFailure", attempts: 1},
		{name: "TestUnaryWithChainedInterceptors_WithRetry", failures: 1, attempts: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before, after := 0, 0
				conn := chained(t, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
					before++
					return next(ctx, method, req, reply, cc, options...)
				}, grpcretry.UnaryClientInterceptor(grpcretry.Options{
					Idempotent: func(string) bool { return true },
					MaxRetries: 2,
					Policy:     func() backoff.BackOff { return backoff.NewConstantBackOff(wait) },
				}), func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
					after++
					if after <= test.failures {
						return status.Error(codes.Unavailable, "no")
					}
					return nil
				})

				start := time.Now()
				require.NoError(t, conn.Invoke(t.Context(), "/service/method", nil, nil))
				require.Equal(t, time.Duration(test.attempts-1)*wait, time.Since(start), "simulated time")
				require.Equal(t, 1, before, "calls of the interceptor before")
				require.Equal(t, test.attempts, after, "calls of the interceptor after")
			})
		})
	}
}

// chained returns a connection whose calls end in the last of the interceptors.
func chained(t *testing.T, interceptors ...grpc.UnaryClientInterceptor) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///unused",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(interceptors...))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}
