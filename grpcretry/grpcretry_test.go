package grpcretry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

func Example() {
	calls := 0
	server := grpc.NewServer(grpc.UnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if calls++; calls < 3 {
				return nil, status.Error(codes.Unavailable, "starting")
			}
			return handle(ctx, req)
		}))
	healthpb.RegisterHealthServer(server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(listener)
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
			Idempotent:     func(method string) bool { return method == healthpb.Health_Check_FullMethodName },
			AttemptTimeout: 5 * time.Second,
			Policy: func() backoff.BackOff {
				return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 4)
			},
			Notify: func(_ context.Context, method string, attempt int, err error, wait time.Duration) {
				fmt.Println(method, "attempt", attempt, status.Code(err), "- again in", wait)
			},
		})))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	reply, err := healthpb.NewHealthClient(conn).Check(context.Background(), new(healthpb.HealthCheckRequest))
	fmt.Println(reply.GetStatus(), err)
	// Output:
	// /grpc.health.v1.Health/Check attempt 1 Unavailable - again in 1ms
	// /grpc.health.v1.Health/Check attempt 2 Unavailable - again in 1ms
	// SERVING <nil>
}

// script is gRPC's health service. It answers the n-th call, counted from 1, with answer(n), and
// with SERVING if that is nil.
type script struct {
	healthpb.UnimplementedHealthServer
	calls  atomic.Int32
	answer func(n int, ctx context.Context) error
}

func (s *script) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if err := s.answer(int(s.calls.Add(1)), ctx); err != nil {
		return nil, err
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// start serves s on a loopback address.
func (s *script) start(address string) (actual string, stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, s)
	go server.Serve(listener)
	return listener.Addr().String(), server.Stop, nil
}

func threeRetries() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }

func idempotent(string) bool { return true }

func dial(t *testing.T, address string, o grpcretry.Options) healthpb.HealthClient {
	t.Helper()
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond},
			MinConnectTimeout: 10 * time.Second,
		}),
		grpc.WithUnaryInterceptor(grpcretry.UnaryClientInterceptor(o)))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return healthpb.NewHealthClient(conn)
}

// dial starts s and returns a client of it.
func (s *script) dial(t *testing.T, o grpcretry.Options) healthpb.HealthClient {
	t.Helper()
	address, stop, err := s.start("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(stop)
	return dial(t, address, o)
}

// check calls a server on a loopback port that answers as answer says, and returns how often that
// was called, and the error. If o does not say otherwise, there are three retries without waits.
func check(t *testing.T, ctx context.Context, o grpcretry.Options, answer func(n int, ctx context.Context) error) (int, error) {
	t.Helper()
	o.Idempotent = idempotent
	if o.Policy == nil {
		o.Policy = threeRetries
	}
	server := &script{answer: answer}
	_, err := server.dial(t, o).Check(ctx, new(healthpb.HealthCheckRequest))
	return int(server.calls.Load()), err
}

func always(err error) func(int, context.Context) error {
	return func(int, context.Context) error { return err }
}

func hang(_ int, ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func retryInfo(t *testing.T, delay time.Duration) error {
	t.Helper()
	s, err := status.New(codes.Unavailable, "busy").WithDetails(
		&errdetails.ErrorInfo{Reason: "BUSY"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	require.NoError(t, err)
	return s.Err()
}

func TestCodes(t *testing.T) {
	slowDown := grpcretry.Options{Retryable: func(err error) bool {
		return status.Code(err) == codes.ResourceExhausted || grpcretry.Retryable(err)
	}}
	for name, o := range map[string]grpcretry.Options{"default": {}, "slow down": slowDown} {
		for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
			want := 1
			if code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.ResourceExhausted && o.Retryable != nil {
				want = 4
			}
			calls, err := check(t, t.Context(), o, always(status.Error(code, "no")))
			require.Equal(t, want, calls, "%s: %v", name, code)
			require.Equal(t, code, status.Code(err))
		}
	}
	calls, err := check(t, t.Context(), grpcretry.Options{}, func(n int, _ context.Context) error {
		if n < 3 {
			return status.Error(codes.Unavailable, "no")
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, calls)
}

// A context that ends with the last attempt does not change that attempt's status.
func TestLateCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	want := status.Error(codes.Internal, "no")
	call := grpcretry.UnaryClientInterceptor(grpcretry.Options{Idempotent: idempotent})
	err := call(ctx, "/service/method", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		cancel()
		return want
	})
	require.Equal(t, want, err)
}

// An error is no success, whatever its status says.
func TestErrorWithoutCode(t *testing.T) {
	fails := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		return errWithoutCode{}
	}
	call := grpcretry.UnaryClientInterceptor(grpcretry.Options{Idempotent: idempotent})
	require.Equal(t, errWithoutCode{}, call(t.Context(), "/service/method", nil, nil, nil, fails))
}

type errWithoutCode struct{}

func (errWithoutCode) Error() string              { return "failed" }
func (errWithoutCode) GRPCStatus() *status.Status { return status.New(codes.OK, "") }

// Only the methods that are named are repeated: none, if none is.
func TestIdempotent(t *testing.T) {
	for _, test := range []struct {
		idempotent func(string) bool
		want       int
	}{
		{nil, 1},
		{func(m string) bool { return m == "/other.Service/Method" }, 1},
		{func(m string) bool { return m == "/grpc.health.v1.Health/Check" }, 4},
	} {
		server := &script{answer: always(status.Error(codes.Unavailable, "no"))}
		_, err := server.dial(t, grpcretry.Options{Policy: threeRetries, Idempotent: test.idempotent}).
			Check(t.Context(), new(healthpb.HealthCheckRequest))
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.EqualValues(t, test.want, server.calls.Load())
	}
}

func TestRetryInfo(t *testing.T) {
	for _, test := range []struct{ asked, want time.Duration }{
		{40 * time.Second, 40 * time.Second},
		{time.Minute, time.Minute},
		{0, 0},
		{-time.Second, 0},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var waits []time.Duration
		calls, err := check(t, ctx, grpcretry.Options{Notify: func(_ context.Context, _ string, _ int, _ error, wait time.Duration) {
			waits = append(waits, wait)
			cancel() // the wait is seen, and need not be waited for
		}}, always(retryInfo(t, test.asked)))
		require.Equal(t, []time.Duration{test.want}, waits)
		require.Equal(t, 1, calls)
		require.Equal(t, codes.Canceled, status.Code(err))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "busy")
	}
}

// The trailer that gRPC's own retry heeds: a wait, or that the call must not be repeated.
func TestPushback(t *testing.T) {
	for _, test := range []struct {
		pushback []string
		info     time.Duration // in the status's details
		want     time.Duration // of the wait; negative if there is none
	}{
		{[]string{"40000"}, 0, 40 * time.Second},
		{[]string{"60000"}, 0, time.Minute},
		{[]string{"0"}, 0, 0},
		{[]string{"40000"}, 50 * time.Second, 50 * time.Second},
		{[]string{"50000"}, 40 * time.Second, 50 * time.Second},
		{[]string{"60001"}, 0, -1}, // more than MaxRetryAfter
		{[]string{"9223372036854775807"}, 0, -1},
		{[]string{"9223372036854775808"}, 0, -1},
		{[]string{"-1"}, time.Second, -1},
		{[]string{"soon"}, 0, -1},
		{[]string{""}, 0, -1},
		{[]string{"1", "1"}, 0, -1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		wait := time.Duration(-1)
		calls, err := check(t, ctx, grpcretry.Options{Notify: func(_ context.Context, _ string, _ int, _ error, d time.Duration) {
			wait = d
			cancel() // the wait is seen, and need not be waited for
		}}, func(_ int, ctx context.Context) error {
			grpc.SetTrailer(ctx, metadata.MD{"grpc-retry-pushback-ms": test.pushback})
			return retryInfo(t, test.info)
		})
		require.Equal(t, test.want, wait, test.pushback)
		require.Equal(t, 1, calls)
		if test.want < 0 {
			require.EqualError(t, err, "rpc error: code = Unavailable desc = busy")
		}
		cancel()
	}

	// It says nothing of the next attempt, nor of a code that is not retried.
	for code, want := range map[codes.Code]int{codes.Unavailable: 4, codes.Aborted: 1} {
		calls, err := check(t, t.Context(), grpcretry.Options{}, func(n int, ctx context.Context) error {
			if n == 1 {
				grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "1"))
			}
			return status.Error(code, "no")
		})
		require.Equal(t, want, calls)
		require.Equal(t, code, status.Code(err))
	}
}

// A caller's own call options hold what the last attempt brought.
func TestCallOptions(t *testing.T) {
	server := &script{answer: func(n int, ctx context.Context) error {
		grpc.SetTrailer(ctx, metadata.Pairs("attempt", fmt.Sprint(n)))
		if n < 3 {
			return status.Error(codes.Unavailable, "no")
		}
		return nil
	}}
	client := server.dial(t, grpcretry.Options{Idempotent: idempotent, Policy: threeRetries})
	var trailer metadata.MD
	_, err := client.Check(t.Context(), new(healthpb.HealthCheckRequest), grpc.Trailer(&trailer))
	require.NoError(t, err)
	require.Equal(t, []string{"3"}, trailer.Get("attempt"))
}

// When the policy stops, the caller gets the server's last status as it was.
func TestLastStatus(t *testing.T) {
	calls, err := check(t, t.Context(), grpcretry.Options{}, always(retryInfo(t, time.Millisecond)))
	require.Equal(t, 4, calls)
	s, ok := status.FromError(err)
	require.True(t, ok)
	require.Equal(t, "busy", s.Message())
	require.Len(t, s.Details(), 2)
	require.EqualError(t, err, "rpc error: code = Unavailable desc = busy")
}

// A server cannot make the client wait longer than MaxRetryAfter, whatever the policy is.
func TestMaxRetryAfter(t *testing.T) {
	for _, asked := range []time.Duration{61 * time.Second, 1e6 * time.Hour, math.MaxInt64} {
		calls, err := check(t, t.Context(), grpcretry.Options{}, always(retryInfo(t, asked)))
		require.Equal(t, 1, calls)
		require.EqualError(t, err, "rpc error: code = Unavailable desc = busy")
		require.Len(t, status.Convert(err).Details(), 2)
	}
	calls, err := check(t, t.Context(), grpcretry.Options{MaxRetryAfter: time.Millisecond}, always(retryInfo(t, 2*time.Millisecond)))
	require.Equal(t, 1, calls)
	require.Equal(t, codes.Unavailable, status.Code(err))
	calls, _ = check(t, t.Context(), grpcretry.Options{MaxRetryAfter: time.Millisecond}, always(retryInfo(t, time.Millisecond)))
	require.Equal(t, 4, calls)

	none := grpcretry.Options{MaxRetryAfter: -1}
	calls, _ = check(t, t.Context(), none, always(retryInfo(t, time.Millisecond)))
	require.Equal(t, 1, calls)
	calls, _ = check(t, t.Context(), none, always(status.Error(codes.Unavailable, "busy")))
	require.Equal(t, 4, calls)
}

// If the server asks for a wait past the call's deadline, there is no use in waiting.
func TestDeadlineRefusal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	calls, err := check(t, ctx, grpcretry.Options{}, always(retryInfo(t, time.Minute)))
	require.NoError(t, ctx.Err())
	require.Equal(t, 1, calls)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Len(t, status.Convert(err).Details(), 2)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAttemptTimeout(t *testing.T) {
	o := grpcretry.Options{AttemptTimeout: 100 * time.Millisecond, Policy: func() backoff.BackOff {
		return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 20) // for a machine too slow for the timeout
	}}
	calls, err := check(t, t.Context(), o, func(n int, ctx context.Context) error {
		if n < 3 {
			return hang(n, ctx)
		}
		return nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, calls, 3)

	o.AttemptTimeout, o.Policy = time.Millisecond, threeRetries
	_, err = check(t, t.Context(), o, hang)
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the call's own context had none")
}

// The call's deadline ends it, whatever attempts may take.
func TestCallDeadline(t *testing.T) {
	for _, timeout := range []time.Duration{-1, 0, time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := check(t, ctx, grpcretry.Options{AttemptTimeout: timeout}, hang)
		require.Equal(t, codes.DeadlineExceeded, status.Code(err))
		<-ctx.Done()
		cancel()
	}
}

func TestSharedBudget(t *testing.T) {
	var attempts int
	var refusal error
	o := grpcretry.Options{
		Budget: &backoff.Budget{Capacity: 10, RetryCost: 5},
		Done:   func(_ context.Context, _ string, n int, err error) { attempts, refusal = n, err },
	}
	for _, want := range []int{3, 1} { // the first call takes it all
		calls, err := check(t, t.Context(), o, always(status.Error(codes.Unavailable, "no")))
		require.Equal(t, want, calls)
		require.Equal(t, want, attempts)
		require.Equal(t, err, refusal)
		require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
		require.Equal(t, codes.Unavailable, status.Code(err))
	}
}

// A server that goes away and comes back is found again within one call.
func TestRestart(t *testing.T) {
	server := &script{answer: always(nil)}
	address, stop, err := server.start("127.0.0.1:0")
	require.NoError(t, err)
	retries := 0
	client := dial(t, address, grpcretry.Options{
		Idempotent: idempotent,
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewConstantBackOff(2*time.Millisecond), 5000)
		},
		Budget: &backoff.Budget{RetryCost: -1},
		Notify: func(context.Context, string, int, error, time.Duration) {
			if retries++; retries == 3 {
				_, stop, err = server.start(address)
			}
		},
	})
	_, err = client.Check(t.Context(), new(healthpb.HealthCheckRequest))
	require.NoError(t, err)
	stop()
	_, callErr := client.Check(t.Context(), new(healthpb.HealthCheckRequest))
	require.NoError(t, err, "the second start")
	defer stop()
	require.NoError(t, callErr)
	require.GreaterOrEqual(t, retries, 3)
	require.EqualValues(t, 2, server.calls.Load())
}

// A wait that would outlast the call's deadline does not start, not even the first.
func TestFirstWaitRefusal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	calls, err := check(t, ctx, grpcretry.Options{
		Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Minute) },
		Notify: func(context.Context, string, int, error, time.Duration) {
			t.Error("notified of a wait that does not start")
		},
	}, always(status.Error(codes.Unavailable, "busy")))
	require.NoError(t, ctx.Err())
	require.Equal(t, 1, calls)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err,
		"context deadline exceeded: next attempt in 1m0s would be too late: rpc error: code = Unavailable desc = busy")
}

// Calls that may be repeated and calls that may not hold slots. Without one, nothing is sent.
func TestSlots(t *testing.T) {
	for _, repeated := range []bool{true, false} {
		slots := backoff.NewSlots(1)
		var attempts []int
		server := &script{answer: func(int, context.Context) error {
			if slots.InUse() != 1 {
				return status.Error(codes.Internal, "no slot is in use")
			}
			return nil
		}}
		client := server.dial(t, grpcretry.Options{
			Idempotent: func(string) bool { return repeated },
			Slots:      slots,
			Done:       func(_ context.Context, _ string, n int, _ error) { attempts = append(attempts, n) },
		})
		_, err := client.Check(t.Context(), new(healthpb.HealthCheckRequest))
		require.NoError(t, err)
		require.Zero(t, slots.InUse())

		require.NoError(t, slots.Acquire(t.Context(), 0))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // less than an attempt may take
		_, err = client.Check(ctx, new(healthpb.HealthCheckRequest))
		require.NoError(t, ctx.Err())
		require.ErrorIs(t, err, backoff.ErrNoSlot)
		require.Equal(t, codes.ResourceExhausted, status.Code(err))

		cancel()
		_, err = client.Check(ctx, new(healthpb.HealthCheckRequest))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, codes.Canceled, status.Code(err))
		require.Equal(t, []int{1, 0, 0}, attempts)
		require.EqualValues(t, 1, server.calls.Load())
		slots.Release()
		require.Zero(t, slots.InUse())
	}
}

// A call whose context has ended is not made.
func TestContextEnded(t *testing.T) {
	boss := errors.New("boss")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(boss)
	for _, repeated := range []bool{true, false} {
		attempts := -1
		server := &script{answer: always(nil)}
		client := server.dial(t, grpcretry.Options{
			Idempotent: func(string) bool { return repeated },
			Done:       func(_ context.Context, _ string, n int, _ error) { attempts = n },
		})
		_, err := client.Check(ctx, new(healthpb.HealthCheckRequest))
		require.Equal(t, codes.Canceled, status.Code(err))
		require.ErrorIs(t, err, boss)
		require.Zero(t, attempts)
		require.Zero(t, server.calls.Load())
	}
}

// Calls that have slots have no budget of the interceptor's own.
func TestDefaultBudget(t *testing.T) {
	for _, test := range []struct {
		slots *backoff.Slots
		want  int32
	}{{nil, 3 + 5}, {backoff.NewSlots(3), 3 * 4}} {
		server := &script{answer: always(status.Error(codes.Unavailable, "no"))}
		client := server.dial(t, grpcretry.Options{Idempotent: idempotent, Slots: test.slots, Policy: threeRetries})
		for range 3 {
			_, err := client.Check(t.Context(), new(healthpb.HealthCheckRequest))
			require.Equal(t, codes.Unavailable, status.Code(err))
		}
		require.Equal(t, test.want, server.calls.Load())
	}
}

func TestMaxRetries(t *testing.T) {
	for _, test := range []struct {
		options grpcretry.Options
		want    int
	}{
		{grpcretry.Options{MaxRetries: -1}, 1},
		{grpcretry.Options{MaxRetries: 2}, 3},
		{grpcretry.Options{MaxRetries: 9}, 4},
		{grpcretry.Options{}, 4},
	} {
		calls, err := check(t, t.Context(), test.options, always(status.Error(codes.Unavailable, "no")))
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.Equal(t, test.want, calls)
	}

	var attempts int
	o := grpcretry.Options{
		Idempotent: idempotent,
		Policy:     func() backoff.BackOff { return nil },
		Done:       func(_ context.Context, _ string, n int, _ error) { attempts = n },
	}
	synctest.Test(t, func(t *testing.T) {
		call := grpcretry.UnaryClientInterceptor(o)
		err := call(t.Context(), "/service/method", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return status.Error(codes.Unavailable, "no")
		})
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.Equal(t, 5, attempts)
	})
}

// What an earlier attempt has filled into a call's options is gone, if the last one had no stream.
func TestCallOptionsForgotten(t *testing.T) {
	var header, trailer metadata.MD
	call := grpcretry.UnaryClientInterceptor(grpcretry.Options{Idempotent: idempotent, Policy: threeRetries})
	attempts := 0
	err := call(t.Context(), "/service/method", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		attempts++
		if attempts == 1 {
			header = metadata.Pairs("attempt", "1")
			trailer = metadata.Pairs("attempt", "1")
		}
		return status.Error(codes.Unavailable, "no connection")
	}, grpc.Header(&header), grpc.Trailer(&trailer))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, 4, attempts)
	require.Empty(t, header)
	require.Empty(t, trailer)
}
