package grpcretry_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

// A server that is still starting, and a client that asks again.
func Example() {
	calls := 0
	starting := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		calls++
		if calls < 3 {
			return nil, status.Error(codes.Unavailable, "starting")
		}
		return handle(ctx, req)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(starting))
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
		grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
			Idempotent:     func(method string) bool { return method == healthpb.Health_Check_FullMethodName },
			AttemptTimeout: 5 * time.Second,    // at least four times what a call usually takes
			Slots:          new(backoff.Slots), // fewer calls while many attempts time out
			Policy:         func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
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

// A client that repeats the calls of one method, and finds a server soon that has been restarted.
func ExampleUnaryClientInterceptor() {
	target := "dns:///orders.example.com:443"
	creds := insecure.NewCredentials()

	redial := grpcbackoff.DefaultConfig
	redial.MaxDelay = 1500 * time.Millisecond

	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(creds),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: redial, MinConnectTimeout: 5 * time.Second}),
		grpc.WithDisableRetry(), // gRPC's own: only one layer should retry
		grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
			Idempotent:     func(method string) bool { return method == "/orders.v1.Orders/Get" },
			AttemptTimeout: 2 * time.Second,    // at least four times what a call usually takes
			Slots:          new(backoff.Slots), // fewer calls while many attempts time out
		})))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	fmt.Println(conn.Target())
	// Output: dns:///orders.example.com:443
}
