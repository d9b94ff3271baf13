package grpcretry_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

var hostile = flag.Duration("hostile", time.Second/2, "how long TestHostile lasts")

func pick[T any](values ...T) T { return values[rand.IntN(len(values))] }

// hostileListener remembers its connections, so that they can be cut.
type hostileListener struct {
	net.Listener
	conns sync.Map // by remote address
}

func (l *hostileListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.conns.Store(conn.RemoteAddr().String(), conn)
	}
	return conn, err
}

// hostileServer has two methods that return what they get, Echo and Once, or fail in every way that
// it can think of. The first eight bytes are the call's number.
type hostileServer struct {
	listener                hostileListener
	seen                    sync.Map // the calls of Once
	calls, cut, doubled     atomic.Int64
	corrupt, good, ended    atomic.Int64
	failed, attempts, tries atomic.Int64
	inProgress, most        atomic.Int64
}

// count is an interceptor that counts the attempts in progress.
func (s *hostileServer) count(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	now := s.inProgress.Add(1)
	defer s.inProgress.Add(-1)
	for highest := s.most.Load(); now > highest && !s.most.CompareAndSwap(highest, now); {
		highest = s.most.Load()
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (s *hostileServer) answer(ctx context.Context, request []byte, once bool) error {
	s.calls.Add(1)
	if once {
		if _, again := s.seen.LoadOrStore(binary.BigEndian.Uint64(request), true); again {
			s.doubled.Add(1)
		}
	}
	select {
	case <-time.After(pick(0, 0, 0, 0, 0, 0, time.Millisecond, 10*time.Millisecond, time.Minute)):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch p := rand.IntN(100); {
	case p < 30:
		return nil
	case p < 32:
		client, _ := peer.FromContext(ctx)
		if conn, ok := s.listener.conns.LoadAndDelete(client.Addr.String()); ok {
			s.cut.Add(1)
			conn.(net.Conn).Close()
		}
		return nil
	}
	if pick(true, false, false) {
		grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", pick("0", "5", "-1", "soon", "1000000", "9223372036854775807")))
	}
	answer := status.New(pick(codes.Unavailable, codes.Unavailable, codes.ResourceExhausted, codes.Code(rand.IntN(20))), "no")
	delay := pick(nil, durationpb.New(pick(-time.Hour, 0, time.Millisecond, 10*time.Millisecond, time.Hour, math.MaxInt64)),
		&durationpb.Duration{Seconds: math.MaxInt64, Nanos: -1})
	if detailed, err := answer.WithDetails(&errdetails.RetryInfo{RetryDelay: delay}, wrapperspb.Bytes(request)); err == nil {
		answer = detailed
	}
	return answer.Err()
}

func (s *hostileServer) method(name string) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		request := new(wrapperspb.BytesValue)
		if err := decode(request); err != nil {
			return nil, err
		}
		return request, s.answer(ctx, request.Value, name == "Once")
	}}
}

// call makes one call, and checks its outcome.
func (s *hostileServer) call(ctx context.Context, conn *grpc.ClientConn, id int64) {
	var cancel context.CancelFunc = func() {}
	method := pick("/hostile/Echo", "/hostile/Echo", "/hostile/Once")
	if method == "/hostile/Once" || pick(true, false) {
		ctx, cancel = context.WithTimeout(ctx, pick(time.Millisecond, 20*time.Millisecond, 200*time.Millisecond))
	}
	defer cancel()
	request, reply := wrapperspb.Bytes(binary.BigEndian.AppendUint64(nil, uint64(id))), new(wrapperspb.BytesValue)
	request.Value = append(request.Value, make([]byte, rand.IntN(20_000))...)
	switch err := conn.Invoke(ctx, method, request, reply); {
	case err == nil && bytes.Equal(request.Value, reply.Value):
		s.good.Add(1)
	case err == nil:
		s.corrupt.Add(1)
	case ctx.Err() != nil:
		s.ended.Add(1)
	default:
		s.failed.Add(1)
	}
}

// TestHostile makes calls that may be repeated and calls that may not to a hostile server. With -v it
// prints the counts.
func TestHostile(t *testing.T) {
	t.Run("20 slots", func(t *testing.T) { testHostile(t, backoff.NewSlots(20), 20) })
	t.Run("slots that size themselves", func(t *testing.T) { testHostile(t, new(backoff.Slots), 30) })
}

func testHostile(t *testing.T, slots *backoff.Slots, most int64) {
	before := runtime.NumGoroutine()
	s := new(hostileServer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.listener.Listener = listener
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "hostile", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{s.method("Echo"), s.method("Once")}}, s)
	go server.Serve(&s.listener)

	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond},
			MinConnectTimeout: 10 * time.Second,
		}),
		grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
			Idempotent: func(method string) bool { return method == "/hostile/Echo" },
			Retryable: func(err error) bool {
				code := status.Code(err)
				return code == codes.ResourceExhausted || code == codes.Unknown || grpcretry.Retryable(err)
			},
			AttemptTimeout: 50 * time.Millisecond,
			Slots:          slots,
			MaxAttempts:    10,
			MaxRetryAfter:  20 * time.Millisecond,
			Policy: func() backoff.BackOff {
				return backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Millisecond), backoff.WithJitter(backoff.FullJitter))
			},
			Done: func(_ context.Context, _ string, n int, _ error) { s.attempts.Add(int64(n)) },
		}), s.count))
	require.NoError(t, err)
	var group sync.WaitGroup
	start := time.Now()
	for range 30 {
		group.Go(func() {
			for time.Since(start) < *hostile || s.good.Load() == 0 && time.Since(start) < 5*time.Minute { // a busy machine needs longer
				s.call(context.Background(), conn, s.tries.Add(1))
			}
		})
	}
	group.Wait()
	require.NoError(t, conn.Close())
	server.Stop()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 10*time.Second, 10*time.Millisecond, "goroutines are left") // +1: Eventually's
	t.Logf("%d calls, %d attempts, %d seen by the server, %d connections cut: %d good, %d failed, %d ended by their context",
		s.tries.Load(), s.attempts.Load(), s.calls.Load(), s.cut.Load(), s.good.Load(), s.failed.Load(), s.ended.Load())
	t.Logf("corrupted: %d; seen twice though they must not be: %d", s.corrupt.Load(), s.doubled.Load())
	require.Zero(t, s.corrupt.Load()+s.doubled.Load())
	require.LessOrEqual(t, s.most.Load(), most, "attempts at once")
	require.Zero(t, slots.InUse())
	require.Positive(t, s.good.Load())
}
