// Package grpc has the names that the tests use.
package grpc

import "context"

type (
	CallOption             any
	DialOption             any
	UnaryClientInterceptor func()
	ClientConn             struct{}
)

func NewClient(target string, opts ...DialOption) (*ClientConn, error) { return nil, nil }

func WithUnaryInterceptor(f UnaryClientInterceptor) DialOption { return nil }

func (c *ClientConn) Invoke(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	return nil
}

func (c *ClientConn) Close() error { return nil }
