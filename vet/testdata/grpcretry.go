// Package grpcretry has the names that the tests use.
package grpcretry

import (
	"example.com/backoff"
	"google.golang.org/grpc"
)

type Options struct {
	Slots       *backoff.Slots
	MaxAttempts int
	Policy      func() backoff.BackOff
	Budget      *backoff.Budget
}

func UnaryClientInterceptor(o Options) grpc.UnaryClientInterceptor { return nil }
