package main

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	"github.com/hashicorp/go-retryablehttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"
)

// clientWays are those of clients that have retries of their own.
var clientWays = []way{
	{"aws-standard", "100 tokens", []setting{
		{"default", "3 attempts, waits from 50 ms on, 500 tokens", awsStandard(500)},
		{"100 tokens", "", awsStandard(100)},
	}},
	{"aws-adaptive", "late", []setting{
		{"default", "3 attempts; only throttling errors slow it down, and there are none", awsAdaptive(false)},
		{"late", "timeouts count as throttling", awsAdaptive(true)},
	}},
	{"retryablehttp", "1 retry", []setting{
		{"default", "4 retries, after 1, 2, 4 and 8 s", retryableHTTP(4)},
		{"1 retry", "", retryableHTTP(1)},
	}},
	{"grpc", "example", []setting{
		{"example", "as in its guide: 4 attempts for UNAVAILABLE, waits from 0.1 s to 1 s, throttling of 10 tokens; no timeout but the deadline",
			grpcCalls(deadline)},
		{"1 s", "a call has 1 s in all", grpcCalls(timeout)},
	}},
}

// awsCalls makes calls as the SDK does.
func awsCalls(p process, r aws.Retryer) caller {
	attempts := retry.NewAttemptMiddleware(r, func(request any) any { return request })
	return func(ctx context.Context) error {
		_, _, err := attempts.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
			func(ctx context.Context, _ middleware.FinalizeInput) (out middleware.FinalizeOutput, data middleware.Metadata, err error) {
				return out, data, p.once(ctx)
			}))
		return err
	}
}

// seeded gives the retryer its own waits, but with random numbers that are seeded.
func seeded(p process) func(*retry.StandardOptions) {
	return func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return seconds(p.random.Float64() * 0.05 * math.Pow(2, float64(attempt-1))), nil
		})
	}
}

func awsStandard(tokens uint) func(process) caller {
	return func(p process) caller {
		return awsCalls(p, retry.NewStandard(seeded(p), func(o *retry.StandardOptions) {
			o.RateLimiter = ratelimit.NewTokenRateLimit(tokens)
		}))
	}
}

// awsAdaptive may take what is late for throttling.
func awsAdaptive(late bool) func(process) caller {
	return func(p process) caller {
		return awsCalls(p, polling{retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
			o.FailOnNoAttemptTokens = true
			o.StandardOptions = append(o.StandardOptions, seeded(p))
			o.Throttles = append(o.Throttles, retry.IsErrorThrottleFunc(func(err error) aws.Ternary {
				if late && errors.Is(err, errLate) {
					return aws.TrueTernary
				}
				return aws.UnknownTernary
			}))
		})})
	}
}

// polling waits for a token in place of the retryer, whose own wait is rounded down: at last it waits for 0 ns, again
// and again, and simulated time stands still.
type polling struct{ *retry.AdaptiveMode }

const pollEvery = 20 * time.Millisecond

// GetAttemptToken implements aws.RetryerV2.
func (p polling) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	for {
		release, err := p.AdaptiveMode.GetAttemptToken(ctx)
		if err == nil {
			return release, nil
		}
		if pause(ctx, pollEvery, nil) != nil {
			return nil, ctx.Err()
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// retryableHTTP makes requests with go-retryablehttp.
func retryableHTTP(retries int) func(process) caller {
	return func(p process) caller {
		client := retryablehttp.NewClient()
		client.Logger = nil
		client.RetryMax = retries
		client.HTTPClient = &http.Client{Timeout: timeout, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			err := p.do(r.Context())
			if errors.Is(err, errLate) {
				return nil, err
			}
			code := http.StatusOK
			if err != nil {
				code = http.StatusServiceUnavailable
			}
			return &http.Response{StatusCode: code, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
		})}
		return func(ctx context.Context) error {
			resp, err := client.Do(must(retryablehttp.NewRequestWithContext(ctx, http.MethodGet, "http://service/", nil)))
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}
	}
}

// grpcConfig is that of https://grpc.io/docs/guides/retry, with the throttling of gRFC A6.
const grpcConfig = `{
	"methodConfig": [{
		"name": [{}],
		"retryPolicy": {
			"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
			"retryableStatusCodes": ["UNAVAILABLE"]
		}
	}],
	"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
}`

// grpcCalls makes gRPC calls, with retries as a service config says, which take so long at most. Each process has a connection of its own, in
// memory.
func grpcCalls(longest time.Duration) func(process) caller {
	return func(p process) caller {
		listener := bufconn.Listen(1 << 16)
		server := grpc.NewServer()
		server.RegisterService(&grpc.ServiceDesc{ServiceName: "service", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
			MethodName: "Get", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				err := decode(new(emptypb.Empty))
				if err != nil {
					return nil, err
				}
				err = p.do(withRandom(ctx, math.Float64bits(p.random.Float64()), 0)) // values stay with the client
				if errors.Is(err, errRefused) {
					err = status.Error(codes.Unavailable, err.Error())
				}
				return new(emptypb.Empty), err
			}}}}, nil)
		go func() { _ = server.Serve(listener) }()

		conn := must(grpc.NewClient("passthrough:///service", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithDefaultServiceConfig(grpcConfig)))
		p.end(func() {
			_ = conn.Close()
			server.Stop()
		})
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, longest)
			defer cancel()
			return conn.Invoke(ctx, "/service/Get", new(emptypb.Empty), new(emptypb.Empty))
		}
	}
}
