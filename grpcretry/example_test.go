package grpcretry_test

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

// A client that repeats the calls of one method.
func ExampleUnaryClientInterceptor() {
	target := "dns:///orders.example.com:443"
	creds := insecure.NewCredentials()

	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableRetry(), // gRPC's own: only one layer should retry
		grpc.WithChainUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{
			Idempotent:     func(method string) bool { return method == "/orders.v1.Orders/Get" },
			AttemptTimeout: 2 * time.Second,
			Slots:          backoff.NewSlots(20),
		})),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	fmt.Println(conn.Target())
	// Output: dns:///orders.example.com:443
}
