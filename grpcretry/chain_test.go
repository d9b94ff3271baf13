package grpcretry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"example.com/backoff/grpcretry"
)

// What stands before the interceptor sees a call once, and what stands after it sees each attempt. Of two
// WithUnaryInterceptor the last one counts.
func TestChain(t *testing.T) {
	ours := grpcretry.UnaryClientInterceptor(grpcretry.Options{
		Idempotent: func(string) bool { return true },
		Policy:     every(0),
	})
	seen := 0
	token := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		seen++
		ctx = metadata.AppendToOutgoingContext(ctx, "token", fmt.Sprint(seen))
		return invoke(ctx, method, req, reply, cc, opts...)
	}

	for _, test := range []struct {
		name    string
		options []grpc.DialOption
		want    []string // tokens, as the server sees them
	}{
		{"before", []grpc.DialOption{grpc.WithChainUnaryInterceptor(token, ours)}, []string{"1", "1", "1", "1"}},
		{"after", []grpc.DialOption{grpc.WithChainUnaryInterceptor(ours, token)}, []string{"1", "2", "3", "4"}},
		{"after, in a chain of its own", []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(ours), grpc.WithChainUnaryInterceptor(token),
		}, []string{"1", "2", "3", "4"}},
		{"beside the chain", []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(ours), grpc.WithUnaryInterceptor(token),
		}, []string{"1", "1", "1", "1"}},
		{"replaced", []grpc.DialOption{grpc.WithUnaryInterceptor(token), grpc.WithUnaryInterceptor(ours)}, []string{"", "", "", ""}},
		{"replaces", []grpc.DialOption{grpc.WithUnaryInterceptor(ours), grpc.WithUnaryInterceptor(token)}, []string{"1"}},
	} {
		bubble(t, test.name, func(t *testing.T) {
			seen = 0
			var tokens []string
			s := &service{answer: func(_ int, ctx context.Context) error {
				sent, _ := metadata.FromIncomingContext(ctx)
				tokens = append(tokens, append(sent.Get("token"), "")[0])
				return errBusy
			}}
			err := check(t.Context(), s.dialPlain(t, test.options...))
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.Equal(t, test.want, tokens)
		})
	}
}

// An interceptor that stands after ours decides by its error whether there is another attempt. After Unauthenticated it
// calls again itself.
func TestToken(t *testing.T) {
	refused := status.Error(codes.Unauthenticated, "the token has expired")
	fails := func(err error) func(context.Context, func() error) error {
		return func(context.Context, func() error) error { return err }
	}
	passes := func(_ context.Context, invoke func() error) error { return invoke() }
	renews := func(_ context.Context, invoke func() error) error {
		err := invoke()
		if status.Code(err) == codes.Unauthenticated {
			return invoke()
		}
		return err
	}
	hangs := func(ctx context.Context, _ func() error) error {
		<-ctx.Done()
		return ctx.Err()
	}

	for _, test := range []struct {
		name     string
		token    func(ctx context.Context, invoke func() error) error
		code     codes.Code
		attempts int
		served   int
	}{
		{"expired", passes, codes.Unauthenticated, 1, 1},
		{"renewed", renews, codes.OK, 1, 2},
		{"token server down", fails(errBusy), codes.Unavailable, 4, 0},
		{"token server down, a plain error", fails(errors.New("down")), codes.Unknown, 1, 0},
		{"token server hangs, a context's error", hangs, codes.Unknown, 1, 0},
	} {
		bubble(t, test.name, func(t *testing.T) {
			attempts := 0
			ours := interceptor(grpcretry.Options{
				AttemptTimeout: time.Second,
				Policy:         every(0),
				Done:           func(_ context.Context, _ string, n int, _ error) { attempts = n },
			})
			token := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				return test.token(ctx, func() error { return invoke(ctx, method, req, reply, cc, opts...) })
			}
			s := &service{answer: func(n int, _ context.Context) error {
				if n == 1 {
					return refused
				}
				return nil
			}}
			err := check(t.Context(), s.dialPlain(t, ours, grpc.WithChainUnaryInterceptor(token)))
			require.Equal(t, test.code, status.Code(err), "%v", err)
			require.Equal(t, test.attempts, attempts)
			require.EqualValues(t, test.served, s.calls.Load())
		})
	}
}

// The package comment says what gRPC's own retries do.
func TestServiceConfig(t *testing.T) {
	own := grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{"service": "grpc.health.v1.Health"}],
		"retryPolicy": {
			"maxAttempts": 4, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["UNAVAILABLE", "DEADLINE_EXCEEDED"]
		}
	}]}`)
	ours := interceptor(grpcretry.Options{AttemptTimeout: time.Second, Policy: every(0)})
	first := func(failed func(ctx context.Context) error) func(int, context.Context) error {
		return func(n int, ctx context.Context) error {
			if n == 1 {
				return failed(ctx)
			}
			return nil
		}
	}
	asks := first(func(context.Context) error { return retryInfo(5 * time.Second) })
	hangs := first(func(ctx context.Context) error { return hang(1, ctx) })
	busy := first(func(context.Context) error { return errBusy })
	once := func(ctx context.Context, client healthpb.HealthClient) error { return check(ctx, client) }
	stream := func(ctx context.Context, client healthpb.HealthClient) error {
		watch, err := client.Watch(ctx, new(healthpb.HealthCheckRequest))
		if err == nil {
			_, err = watch.Recv()
		}
		return err
	}

	for _, test := range []struct {
		name    string
		call    func(context.Context, healthpb.HealthClient) error
		answer  func(int, context.Context) error
		options []grpc.DialOption
		code    codes.Code
		served  int
		elapsed time.Duration // in seconds
	}{
		{"a call, its own", once, busy, []grpc.DialOption{own}, codes.OK, 2, 0},
		{"a call, ours", once, busy, []grpc.DialOption{ours}, codes.OK, 2, 0},
		{"a stream, its own", stream, busy, []grpc.DialOption{own}, codes.OK, 2, 0},
		{"a stream, ours", stream, busy, []grpc.DialOption{ours}, codes.Unavailable, 1, 0},
		{"a call that hangs, its own", once, hangs, []grpc.DialOption{own}, codes.DeadlineExceeded, 1, 10},
		{"a call that hangs, ours", once, hangs, []grpc.DialOption{ours}, codes.OK, 2, 1},
		{"a RetryInfo, its own", once, asks, []grpc.DialOption{own}, codes.OK, 2, 0},
		{"a RetryInfo, ours", once, asks, []grpc.DialOption{ours}, codes.OK, 2, 5},
		{"both", once, always(errBusy), []grpc.DialOption{own, ours}, codes.Unavailable, 16, 0},
		{"both, one disabled", once, always(errBusy), []grpc.DialOption{own, ours, grpc.WithDisableRetry()}, codes.Unavailable, 4, 0},
	} {
		bubble(t, test.name, func(t *testing.T) {
			s := &service{answer: test.answer}
			client := s.dialPlain(t, test.options...)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()

			start := time.Now()
			err := test.call(ctx, client)
			require.Equal(t, test.elapsed, time.Since(start)/time.Second)
			require.Equal(t, test.code, status.Code(err), "%v", err)
			require.EqualValues(t, test.served, s.calls.Load())
			time.Sleep(time.Second) // until the service's handlers have ended
		})
	}
}
