package grpcretry_test

import (
	"context"
	"encoding/json"
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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

// A service is gRPC's health service in memory. It answers the n-th call, counted from 1, with answer(n), and with
// SERVING if that is nil.
type service struct {
	healthpb.UnimplementedHealthServer
	answer   func(n int, ctx context.Context) error
	calls    atomic.Int32
	server   *grpc.Server
	listener atomic.Pointer[bufconn.Listener]
}

func (s *service) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if err := s.answer(int(s.calls.Add(1)), ctx); err != nil {
		return nil, err
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (s *service) Watch(_ *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	if err := s.answer(int(s.calls.Add(1)), stream.Context()); err != nil {
		return err
	}
	return stream.Send(new(healthpb.HealthCheckResponse))
}

func (s *service) start() {
	listener := bufconn.Listen(1 << 20)
	s.listener.Store(listener)
	s.server = grpc.NewServer()
	healthpb.RegisterHealthServer(s.server, s)
	go s.server.Serve(listener)
}

// dial starts s and returns a client of it that retries. A nil o.Idempotent stands for all methods.
func (s *service) dial(t *testing.T, o grpcretry.Options) healthpb.HealthClient {
	t.Helper()
	return s.dialPlain(t, interceptor(o))
}

// dialPlain starts s and returns a client of it.
func (s *service) dialPlain(t *testing.T, options ...grpc.DialOption) healthpb.HealthClient {
	t.Helper()
	s.start()
	t.Cleanup(func() { s.server.Stop() })
	return newClient(t, "passthrough:///memory", append(options, grpc.WithContextDialer(s.connect))...)
}

func (s *service) connect(ctx context.Context, _ string) (net.Conn, error) {
	return s.listener.Load().DialContext(ctx)
}

func dial(t *testing.T, target string, o grpcretry.Options, options ...grpc.DialOption) healthpb.HealthClient {
	t.Helper()
	return newClient(t, target, append(options, interceptor(o))...)
}

func interceptor(o grpcretry.Options) grpc.DialOption {
	if o.Idempotent == nil {
		o.Idempotent = func(string) bool { return true }
	}
	return grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(o))
}

func newClient(t *testing.T, target string, options ...grpc.DialOption) healthpb.HealthClient {
	t.Helper()
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{plain}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return healthpb.NewHealthClient(conn)
}

func check(ctx context.Context, client healthpb.HealthClient, options ...grpc.CallOption) error {
	_, err := client.Check(ctx, new(healthpb.HealthCheckRequest), options...)
	return err
}

// An outcome is what came of a call.
type outcome struct {
	err      error
	attempts int             // as Done is told
	served   int             // calls that the service saw
	waits    []time.Duration // as Notify is told
	elapsed  time.Duration
}

// call calls a service that answers as answer says, in a synctest bubble.
func call(t *testing.T, ctx context.Context, o grpcretry.Options, answer func(n int, ctx context.Context) error) outcome {
	t.Helper()
	got := outcome{attempts: -1}
	var told error
	o.Notify = func(_ context.Context, _ string, _ int, _ error, wait time.Duration) {
		got.waits = append(got.waits, wait)
	}
	o.Done = func(_ context.Context, method string, n int, err error) {
		require.Equal(t, healthpb.Health_Check_FullMethodName, method)
		got.attempts = n
		told = err
	}
	s := &service{answer: answer}
	client := s.dial(t, o)

	start := time.Now()
	got.err = check(ctx, client)
	got.elapsed = time.Since(start)
	got.served = int(s.calls.Load())
	require.Equal(t, got.err, told, "what Done is told")
	time.Sleep(time.Second) // until the service's handlers have ended
	return got
}

// bubble runs f in a synctest bubble, as a test of its own.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

var (
	errBusy = status.Error(codes.Unavailable, "busy")
	errGone = status.Error(codes.NotFound, "gone")

	// errUnknown is gRPC's for a name without an address.
	errUnknown = status.Error(codes.Unavailable, "name resolver error: produced zero addresses")
)

func always(err error) func(int, context.Context) error {
	return func(int, context.Context) error { return err }
}

// hang is an answer that does not come before the client's deadline, which the server knows too.
func hang(_ int, ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(time.Millisecond)
	return ctx.Err()
}

// busyThenHang is an answer that hangs from the n-th attempt on.
func busyThenHang(hangs int) func(int, context.Context) error {
	return func(n int, ctx context.Context) error {
		if n < hangs {
			return errBusy
		}
		return hang(n, ctx)
	}
}

func every(wait time.Duration) func() backoff.BackOff {
	return func() backoff.BackOff { return backoff.NewConstantBackOff(wait) }
}

func never(string) bool { return false }

// withDetails returns a status that has details beside an ErrorInfo.
func withDetails(code codes.Code, details ...protoadapt.MessageV1) error {
	s, err := status.New(code, "busy").WithDetails(append(details, &errdetails.ErrorInfo{Reason: "BUSY"})...)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func wait(delay time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}
}

func retryInfo(delay time.Duration) error { return withDetails(codes.Unavailable, wait(delay)) }

func slowDown(delay time.Duration) error { return withDetails(codes.ResourceExhausted, wait(delay)) }

func TestCodes(t *testing.T) {
	anyQuota := func(err error) bool {
		return status.Code(err) == codes.ResourceExhausted || grpcretry.Retryable(err)
	}
	for name, retryable := range map[string]func(error) bool{"default": nil, "any quota": anyQuota} {
		for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
			bubble(t, fmt.Sprintf("%s, %v", name, code), func(t *testing.T) {
				want := 1
				if code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.ResourceExhausted && retryable != nil {
					want = 4
				}
				o := grpcretry.Options{Retryable: retryable, Policy: every(0)}
				got := call(t, t.Context(), o, always(status.Error(code, "no")))
				require.Equal(t, want, got.served)
				require.Equal(t, want, got.attempts)
				require.Equal(t, code, status.Code(got.err))
			})
		}
	}
}

// ResourceExhausted is repeated if its details ask for a wait, and after that wait. A trailer can ask for a longer one or
// forbid another attempt, but by itself it does not tell "slow down" from a quota that is used up.
func TestSlowDown(t *testing.T) {
	const none = -1
	for _, test := range []struct {
		name     string
		details  []protoadapt.MessageV1
		pushback []string
		want     time.Duration
	}{
		{"a wait", []protoadapt.MessageV1{wait(5 * time.Second)}, nil, 5 * time.Second},
		{"a nanosecond", []protoadapt.MessageV1{wait(1)}, nil, 1},
		{"the longer one", []protoadapt.MessageV1{wait(1), wait(5 * time.Second), wait(2)}, nil, 5 * time.Second},
		{"and a longer pushback", []protoadapt.MessageV1{wait(time.Second)}, []string{"5000"}, 5 * time.Second},
		{"and a shorter pushback", []protoadapt.MessageV1{wait(5 * time.Second)}, []string{"1"}, 5 * time.Second},
		{"and a pushback that forbids it", []protoadapt.MessageV1{wait(time.Second)}, []string{"-1"}, none},
		{"no wait", nil, nil, none},
		{"a pushback alone", nil, []string{"5000"}, none},
		{"zero", []protoadapt.MessageV1{wait(0)}, nil, none},
		{"zero, and a pushback", []protoadapt.MessageV1{wait(0)}, []string{"5000"}, none},
		{"negative", []protoadapt.MessageV1{wait(-time.Second)}, nil, none},
		{"unset", []protoadapt.MessageV1{new(errdetails.RetryInfo)}, nil, none},
		{"two that ask for nothing", []protoadapt.MessageV1{wait(0), wait(-1)}, nil, none},
	} {
		bubble(t, test.name, func(t *testing.T) {
			busy := withDetails(codes.ResourceExhausted, test.details...)
			got := call(t, t.Context(), grpcretry.Options{Policy: every(0)}, func(n int, ctx context.Context) error {
				if n > 1 {
					return nil
				}
				grpc.SetTrailer(ctx, metadata.MD{"grpc-retry-pushback-ms": test.pushback})
				return busy
			})
			if test.want == none {
				require.Equal(t, 1, got.served)
				require.EqualError(t, got.err, "rpc error: code = ResourceExhausted desc = busy")
				return
			}
			require.NoError(t, got.err)
			require.Equal(t, []time.Duration{test.want}, got.waits)
			require.Equal(t, test.want, got.elapsed)
		})
	}
}

// Retryable finds a status that is wrapped, and no other code asks for a repetition by its details.
func TestRetryable(t *testing.T) {
	require.True(t, grpcretry.Retryable(fmt.Errorf("orders: %w", slowDown(time.Second))))
	require.False(t, grpcretry.Retryable(fmt.Errorf("orders: %w", slowDown(0))))
	require.True(t, grpcretry.Retryable(fmt.Errorf("orders: %w", errBusy)))
	require.False(t, grpcretry.Retryable(fmt.Errorf("orders: %w", errUnknown)))
	require.False(t, grpcretry.Retryable(errors.New("no status")))
	require.False(t, grpcretry.Retryable(nil))
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		want := code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.ResourceExhausted
		require.Equal(t, want, code != codes.OK && grpcretry.Retryable(withDetails(max(code, 1), wait(time.Second))), code)
	}
}

// jsonCodec is a codec that adds to what it finds in a reply.
type jsonCodec struct{}

func (jsonCodec) Name() string                       { return "json" }
func (jsonCodec) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (jsonCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// A reply holds the answer of one attempt. What it held before the first is the codec's to clear.
func TestReply(t *testing.T) {
	for _, reply := range []any{
		new(struct{ N map[string]any }),
		new(errdetails.ErrorInfo), // a message, which has a map
	} {
		bubble(t, fmt.Sprintf("%T", reply), func(t *testing.T) {
			attempts := 0
			listener := bufconn.Listen(1 << 20)
			server := grpc.NewServer(grpc.ForceServerCodec(jsonCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
				attempts++
				answered := map[string]string{fmt.Sprint("attempt ", attempts): ""}
				answer := map[string]any{"N": answered, "metadata": answered}
				if err := stream.SendMsg(answer); err != nil || attempts == 3 {
					return err
				}
				return errBusy // after an answer
			}))
			go server.Serve(listener)
			defer server.Stop()
			conn, err := grpc.NewClient("passthrough:///memory",
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
				grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithDefaultCallOptions(grpc.ForceCodec(jsonCodec{})),
				grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
					Idempotent: func(string) bool { return true },
				})))
			require.NoError(t, err)
			defer conn.Close()

			require.NoError(t, conn.Invoke(t.Context(), "/service/method", 0, reply))
			require.Equal(t, 3, attempts)
			text, err := json.Marshal(reply)
			require.NoError(t, err)
			require.Contains(t, string(text), "attempt 3")
			require.NotContains(t, string(text), "attempt 2")
			require.NotContains(t, string(text), "attempt 1")
		})
	}
}

// Only the methods that are named are repeated: none, if none is.
func TestIdempotent(t *testing.T) {
	for _, test := range []struct {
		idempotent func(string) bool
		want       int
	}{
		{nil, 1},
		{func(m string) bool { return m == "/other.Service/Method" }, 1},
		{func(m string) bool { return m == "/service/method" }, 4},
	} {
		attempts := 0
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			attempts++
			return errBusy
		}
		interceptor := grpcretry.UnaryClientInterceptor(grpcretry.Options{Idempotent: test.idempotent, Policy: every(0)})
		err := interceptor(t.Context(), "/service/method", nil, nil, nil, invoke)
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.Equal(t, test.want, attempts)
	}
}

// Zero is four attempts with the Retrier's waits, whatever Policy is.
func TestMaxAttempts(t *testing.T) {
	for _, test := range []struct {
		options grpcretry.Options
		want    int // attempts
	}{
		{grpcretry.Options{}, 4},
		{grpcretry.Options{Policy: func() backoff.BackOff { return nil }}, 4},
		{grpcretry.Options{Policy: every(0)}, 4},
		{grpcretry.Options{MaxAttempts: 3}, 3},
		{grpcretry.Options{MaxAttempts: 1}, 1},
		{grpcretry.Options{MaxAttempts: -1, Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 4)
		}}, 5},
	} {
		bubble(t, "", func(t *testing.T) {
			got := call(t, t.Context(), test.options, always(errBusy))
			require.Equal(t, test.want, got.attempts)
			if test.options.Policy != nil && test.options.Policy() != nil {
				return
			}
			for i, wait := range got.waits {
				interval := float64(backoff.DefaultInitialInterval) * math.Pow(backoff.DefaultMultiplier, float64(i))
				require.InDelta(t, interval, wait, interval/2, "wait %d", i)
			}
		})
	}
}

// The longest wait counts that the status or the trailer asks for. The trailer can also say that the call must not
// be repeated.
func TestServerWaits(t *testing.T) {
	const none = -1
	for _, test := range []struct {
		info     time.Duration // in the status's details
		pushback []string
		want     time.Duration
	}{
		{40 * time.Second, nil, 40 * time.Second},
		{time.Minute, nil, time.Minute},
		{0, nil, 0},
		{-time.Second, nil, 0},
		{0, []string{"40000"}, 40 * time.Second},
		{0, []string{"60000"}, time.Minute},
		{0, []string{"0"}, 0},
		{50 * time.Second, []string{"40000"}, 50 * time.Second},
		{40 * time.Second, []string{"50000"}, 50 * time.Second},
		{time.Second, []string{"-1"}, none},
		{0, []string{"soon"}, none},
		{0, []string{""}, none},
		{0, []string{"1", "1"}, none},
		{0, []string{"9223372036854775808"}, none}, // no int64
	} {
		bubble(t, fmt.Sprint(test.info, test.pushback), func(t *testing.T) {
			got := call(t, t.Context(), grpcretry.Options{Policy: every(0)}, func(n int, ctx context.Context) error {
				if n > 1 {
					return nil
				}
				grpc.SetTrailer(ctx, metadata.MD{"grpc-retry-pushback-ms": test.pushback})
				return retryInfo(test.info)
			})
			if test.want == none {
				require.ErrorIs(t, got.err, retryInfo(test.info))
				require.EqualError(t, got.err, "rpc error: code = Unavailable desc = busy")
				require.Empty(t, got.waits)
				return
			}
			require.NoError(t, got.err)
			require.Equal(t, []time.Duration{test.want}, got.waits)
			require.Equal(t, test.want, got.elapsed)
		})
	}
}

// A server cannot make the client wait for longer than MaxRetryAfter.
func TestMaxRetryAfter(t *testing.T) {
	for _, test := range []struct {
		limit, asked time.Duration
		refused      bool
	}{
		{0, time.Minute, false},
		{0, time.Minute + time.Millisecond, true},
		{0, math.MaxInt64, true},
		{time.Second, time.Second, false},
		{time.Second, time.Second + 1, true},
		{-1, time.Hour, false},
		{-1, 0, false},
	} {
		bubble(t, fmt.Sprint(test.limit, test.asked), func(t *testing.T) {
			o := grpcretry.Options{MaxRetryAfter: test.limit, Policy: every(0)}
			got := call(t, t.Context(), o, always(retryInfo(test.asked)))
			require.ErrorIs(t, got.err, backoff.ErrRetriesExhausted)
			if !test.refused {
				require.Equal(t, 4, got.attempts)
				return
			}
			require.Equal(t, 1, got.attempts)
			var asked *backoff.RetryAfterError
			require.ErrorAs(t, got.err, &asked)
			require.Equal(t, test.asked, asked.Duration)
		})
	}

	bubble(t, "a pushback that no Duration can hold", func(t *testing.T) {
		got := call(t, t.Context(), grpcretry.Options{}, func(_ int, ctx context.Context) error {
			grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "9223372036854775807"))
			return errBusy
		})
		require.ErrorIs(t, got.err, backoff.ErrRetriesExhausted)
		require.Equal(t, 1, got.attempts)
	})
}

// AttemptTimeout that is set limits every attempt. By default, it does not limit a call that is sent once.
func TestAttemptTimeout(t *testing.T) {
	slots := backoff.NewSlots(1)
	for _, test := range []struct {
		name    string
		options grpcretry.Options
		want    time.Duration // what an attempt may take; an hour is the call's own deadline
	}{
		{"repeated, default", grpcretry.Options{}, 30 * time.Second},
		{"repeated, default, slots", grpcretry.Options{Slots: slots}, 30 * time.Second},
		{"repeated, set", grpcretry.Options{AttemptTimeout: time.Second}, time.Second},
		{"repeated, none", grpcretry.Options{AttemptTimeout: -1}, time.Hour},
		{"once, default", grpcretry.Options{Idempotent: never}, time.Hour},
		{"once, default, slots", grpcretry.Options{Idempotent: never, Slots: slots}, time.Hour},
		{"once, default, slots that size themselves", grpcretry.Options{Idempotent: never, Slots: new(backoff.Slots)}, time.Hour},
		{"once, set", grpcretry.Options{Idempotent: never, AttemptTimeout: time.Second}, time.Second},
		{"once, none, slots", grpcretry.Options{Idempotent: never, AttemptTimeout: -1, Slots: slots}, time.Hour},
	} {
		bubble(t, test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			test.options.MaxAttempts = 2
			test.options.Policy = every(0)
			attempts := 1
			if test.options.Idempotent == nil && test.want < time.Hour {
				attempts = 2
			}
			got := call(t, ctx, test.options, hang)
			require.Equal(t, attempts, got.attempts)
			require.Equal(t, time.Duration(attempts)*test.want, got.elapsed)
			require.Equal(t, codes.DeadlineExceeded, status.Code(got.err))
			require.Equal(t, test.want == time.Hour, errors.Is(got.err, context.DeadlineExceeded), "the call's own")
		})
	}
}

var errBoss = errors.New("boss")

// An end is a way in which a call ends. Its waits are of a second if options.Policy is nil.
type end struct {
	name     string
	options  grpcretry.Options
	taken    bool          // another call has the only slot
	timeout  time.Duration // of the call's context, if not 0
	canceled time.Duration // when it is cancelled, if not 0; negative: before the call
	answer   func(int, context.Context) error

	attempts int
	elapsed  time.Duration
	code     codes.Code
	matches  []error
	text     string // contained in the error's, and in the status's message
	details  int    // of the status
}

var ends = []end{
	{
		name:   "not retried",
		answer: always(errGone), attempts: 1, code: codes.NotFound, matches: []error{errGone},
	},
	{
		name: "no retries left", options: grpcretry.Options{MaxAttempts: 2},
		answer: always(errBusy), attempts: 2, elapsed: time.Second,
		code: codes.Unavailable, matches: []error{backoff.ErrRetriesExhausted, errBusy},
		text: "retries exhausted: rpc error: code = Unavailable desc = busy",
	},
	{
		name: "no budget left", options: grpcretry.Options{Budget: &backoff.Budget{Capacity: 5}},
		answer: always(errBusy), attempts: 2, elapsed: time.Second,
		code: codes.Unavailable, matches: []error{backoff.ErrBudgetExhausted, errBusy},
		text: "retry budget exhausted: rpc error: code = Unavailable desc = busy",
	},
	{
		name: "the first wait would be too late", options: grpcretry.Options{Policy: every(time.Minute)}, timeout: 30 * time.Second,
		answer: always(errBusy), attempts: 1,
		code: codes.Unavailable, matches: []error{context.DeadlineExceeded, errBusy},
		text: "context deadline exceeded: next attempt in 1m0s would be too late: rpc error: code = Unavailable desc = busy",
	},
	{
		name: "the server's wait would be too late", timeout: 30 * time.Second,
		answer: always(retryInfo(time.Minute)), attempts: 1,
		code: codes.Unavailable, matches: []error{context.DeadlineExceeded, retryInfo(time.Minute)},
		text: "next attempt in 1m0s would be too late", details: 2,
	},
	{
		name: "the server asks for too much", options: grpcretry.Options{MaxRetryAfter: time.Second},
		answer: always(retryInfo(time.Minute)), attempts: 1,
		code: codes.Unavailable, matches: []error{backoff.ErrRetriesExhausted, retryInfo(time.Minute)},
		text: "busy", details: 2,
	},
	{
		name:   "the server says slow down for too long",
		answer: always(slowDown(61 * time.Second)), attempts: 1,
		code: codes.ResourceExhausted, matches: []error{backoff.ErrRetriesExhausted, slowDown(61 * time.Second)},
		text: "busy", details: 2,
	},
	{
		name: "no slot", taken: true, timeout: 40 * time.Second,
		elapsed: 10 * time.Second, // 30 s are left for the attempt
		code:    codes.ResourceExhausted, matches: []error{backoff.ErrNoSlot},
	},
	{
		name: "no slot, once", taken: true, options: grpcretry.Options{Idempotent: never, AttemptTimeout: 35 * time.Second}, timeout: 40 * time.Second,
		elapsed: 10 * time.Second, // a quarter of what is left
		code:    codes.ResourceExhausted, matches: []error{backoff.ErrNoSlot},
	},
	{
		name: "cancelled before the call", canceled: -1,
		code: codes.Canceled, matches: []error{context.Canceled, errBoss},
	},
	{
		name: "cancelled before the call, once", options: grpcretry.Options{Idempotent: never}, canceled: -1,
		code: codes.Canceled, matches: []error{context.Canceled, errBoss},
	},
	{
		name: "cancelled before a slot was free", taken: true, canceled: time.Second,
		elapsed: time.Second, code: codes.Canceled, matches: []error{context.Canceled, errBoss, backoff.ErrNoSlot},
	},
	{
		name: "cancelled in a wait", canceled: time.Second / 2,
		answer: always(errBusy), attempts: 1, elapsed: time.Second / 2,
		code: codes.Canceled, matches: []error{context.Canceled, errBoss, errBusy}, text: "busy",
	},
	{
		name: "cancelled in an attempt", canceled: 5 * time.Second / 2,
		answer: busyThenHang(3), attempts: 3, elapsed: 5 * time.Second / 2,
		code: codes.Canceled, matches: []error{context.Canceled, errBoss, errBusy}, text: "busy",
	},
	{
		name: "cancelled in an attempt, once", options: grpcretry.Options{Idempotent: never}, canceled: time.Second,
		answer: hang, attempts: 1, elapsed: time.Second,
		code: codes.Canceled, matches: []error{context.Canceled, errBoss},
	},
	{
		name: "the deadline came in an attempt", timeout: 3 * time.Second / 2,
		answer: busyThenHang(2), attempts: 2, elapsed: 3 * time.Second / 2,
		code: codes.DeadlineExceeded, matches: []error{context.DeadlineExceeded, errBusy}, text: "busy",
	},
	{
		name: "attempts took too long", options: grpcretry.Options{AttemptTimeout: time.Second, MaxAttempts: 2},
		answer: hang, attempts: 2, elapsed: 3 * time.Second,
		code: codes.DeadlineExceeded, matches: []error{backoff.ErrRetriesExhausted},
	},
}

// Every end of a call has its error.
func TestErrors(t *testing.T) {
	for _, e := range ends {
		bubble(t, e.name, e.run)
	}
}

func (e end) run(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	switch {
	case e.canceled < 0:
		cancel(errBoss)
	case e.canceled > 0:
		time.AfterFunc(e.canceled, func() { cancel(errBoss) })
	case e.timeout > 0:
		timed, release := context.WithTimeout(ctx, e.timeout)
		defer release()
		ctx = timed
	}
	if e.options.Policy == nil {
		e.options.Policy = every(time.Second)
	}
	if e.options.Budget != nil { // a new one for each run
		e.options.Budget = &backoff.Budget{Capacity: e.options.Budget.Capacity}
	}
	if e.taken {
		release := takeSlot(&e.options)
		defer release()
	}

	got := call(t, ctx, e.options, e.answer)
	require.Equal(t, e.attempts, got.attempts)
	require.Equal(t, e.attempts, got.served)
	require.Equal(t, e.elapsed, got.elapsed)
	for _, match := range e.matches {
		require.ErrorIs(t, got.err, match)
	}
	require.ErrorContains(t, got.err, e.text)
	s, ok := status.FromError(got.err)
	require.True(t, ok)
	require.Equal(t, e.code, s.Code())
	require.Contains(t, s.Message(), e.text)
	require.Len(t, s.Details(), e.details)
}

// takeSlot gives o a single slot, which a call has until release is called.
func takeSlot(o *grpcretry.Options) (release func()) {
	o.Slots = backoff.NewSlots(1)
	released := make(chan struct{})
	go intercept(context.Background(), grpcretry.Options{Slots: o.Slots, AttemptTimeout: -1}, func(context.Context) error {
		<-released
		return nil
	})
	synctest.Wait()
	return func() { close(released) }
}

// A call whose context ends in an attempt ends alike whether it is sent once or not: with the context's error where
// the attempt's says no more than that it failed, and otherwise with the answer.
func TestContextEnds(t *testing.T) {
	for name, o := range map[string]grpcretry.Options{
		"repeated":             {},
		"once, by its method":  {Idempotent: never},
		"once, by MaxAttempts": {MaxAttempts: 1},
	} {
		for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
			for _, last := range []error{status.Error(code, "no"), withDetails(code, wait(time.Second))} {
				for _, canceled := range []bool{true, false} {
					bubble(t, fmt.Sprint(name, ", ", last, ", canceled: ", canceled), func(t *testing.T) {
						testContextEnd(t, o, last, canceled)
					})
				}
			}
		}
	}
}

func testContextEnd(t *testing.T, o grpcretry.Options, last error, canceled bool) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoss)
	defer cancel()
	ended, want := context.DeadlineExceeded, codes.DeadlineExceeded
	if canceled {
		canceling, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second/2, func() { cancel(errBoss) })
		ctx, ended, want = canceling, context.Canceled, codes.Canceled
	}

	err := intercept(ctx, o, func(ctx context.Context) error {
		<-ctx.Done()
		return last
	})
	if code := status.Code(last); code != codes.Canceled && !grpcretry.Retryable(last) {
		require.Same(t, last, err)
		return
	}
	require.Equal(t, want, status.Code(err))
	require.ErrorIs(t, err, ended)
	require.ErrorIs(t, err, errBoss)
	require.ErrorIs(t, err, last)
}

// intercept makes a call without a connection. A nil o.Idempotent stands for all methods.
func intercept(ctx context.Context, o grpcretry.Options, attempt func(ctx context.Context) error) error {
	if o.Idempotent == nil {
		o.Idempotent = func(string) bool { return true }
	}
	invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		return attempt(ctx)
	}
	return grpcretry.UnaryClientInterceptor(o)(ctx, "/service/method", nil, nil, nil, invoke)
}

// An answer that is final comes back as it is, also if the context ended meanwhile, and whatever it is.
func TestFinalAnswer(t *testing.T) {
	for name, want := range map[string]error{
		"a status":       errGone,
		"without a code": errWithoutCode{},
	} {
		for _, repeated := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				cancel()
				return want
			}
			interceptor := grpcretry.UnaryClientInterceptor(grpcretry.Options{
				Idempotent: func(string) bool { return repeated },
			})
			require.Equal(t, want, interceptor(ctx, "/service/method", nil, nil, nil, invoke), name)
		}
	}
}

// errWithoutCode is an error whose status says OK.
type errWithoutCode struct{}

func (errWithoutCode) Error() string              { return "failed" }
func (errWithoutCode) GRPCStatus() *status.Status { return status.New(codes.OK, "") }

// What is sent once has its own status, and no Retryable is asked.
func TestOnce(t *testing.T) {
	for name, o := range map[string]grpcretry.Options{
		"by its method":  {Idempotent: never},
		"by MaxAttempts": {MaxAttempts: 1},
	} {
		bubble(t, name, func(t *testing.T) {
			o.Retryable = func(error) bool {
				t.Error("Retryable was called")
				return true
			}
			want := retryInfo(time.Second)
			got := call(t, t.Context(), o, always(want))
			require.Equal(t, 1, got.served)
			require.ErrorIs(t, got.err, want)
			require.EqualError(t, got.err, want.Error())
		})
	}
}

// Without a Budget all calls are repeated, whatever others did before; with one they share it.
func TestBudget(t *testing.T) {
	for _, test := range []struct {
		budget *backoff.Budget
		want   int
	}{
		{nil, 10 * 4},
		{new(backoff.Budget), 10 + 5},
	} {
		bubble(t, "", func(t *testing.T) {
			s := &service{answer: always(errBusy)}
			client := s.dial(t, grpcretry.Options{Budget: test.budget, Policy: every(0)})
			for range 10 {
				require.Equal(t, codes.Unavailable, status.Code(check(t.Context(), client)))
			}
			require.EqualValues(t, test.want, s.calls.Load())
		})
	}
}

// A caller's own call options hold what the last attempt brought: nothing, if that reached no server.
func TestCallOptions(t *testing.T) {
	for _, reached := range []bool{true, false} {
		bubble(t, fmt.Sprint("reached: ", reached), func(t *testing.T) {
			s := &service{answer: func(n int, ctx context.Context) error {
				brought := metadata.Pairs("attempt", fmt.Sprint(n))
				grpc.SetHeader(ctx, brought)
				grpc.SetTrailer(ctx, brought)
				return errBusy
			}}
			var finished []error
			attempts := 0
			o := grpcretry.Options{
				Notify: func(context.Context, string, int, error, time.Duration) {
					if !reached {
						s.server.Stop()
					}
				},
				Done: func(_ context.Context, _ string, n int, _ error) { attempts = n },
			}
			client := s.dial(t, o)

			var header, trailer metadata.MD
			var server peer.Peer
			err := check(t.Context(), client, grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&server),
				grpc.OnFinish(func(err error) { finished = append(finished, err) }))
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.Equal(t, 4, attempts)
			require.Len(t, finished, 4)
			if reached {
				require.Equal(t, []string{"4"}, header.Get("attempt"))
				require.Equal(t, []string{"4"}, trailer.Get("attempt"))
				require.NotNil(t, server.Addr)
				return
			}
			require.EqualValues(t, 1, s.calls.Load())
			require.Empty(t, header)
			require.Empty(t, trailer)
			require.Empty(t, server)
		})
	}
}
