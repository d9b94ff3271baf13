package grpcretry_test

import (
	"context"
	"flag"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
)

var down = flag.Duration("down", 0, "how long the server of TestRestartTCP is down; 0: it is skipped")

// A server that goes away and comes back is found again within one call.
func TestRestartInCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: always(nil)}
		retries := 0
		client := s.dial(t, grpcretry.Options{
			MaxAttempts: 101,
			Policy:      every(time.Second),
			Notify: func(context.Context, string, int, error, time.Duration) {
				retries++
				if retries == 3 {
					s.start()
				}
			},
		})
		require.NoError(t, check(t.Context(), client))
		s.server.Stop()
		require.NoError(t, check(t.Context(), client))
		require.GreaterOrEqual(t, retries, 3)
		require.EqualValues(t, 2, s.calls.Load())
	})
}

// asDocumented is what the package comment shows.
func asDocumented() (grpc.DialOption, grpcretry.Options) {
	redial := grpcbackoff.DefaultConfig
	redial.MaxDelay = 1500 * time.Millisecond
	return grpc.WithConnectParams(grpc.ConnectParams{Backoff: redial, MinConnectTimeout: 5 * time.Second}),
		grpcretry.Options{AttemptTimeout: 2 * time.Second, Slots: new(backoff.Slots)}
}

// longest is the longest wait between two dials: MaxDelay, and what gRPC's jitter adds.
const longest = 1800 * time.Millisecond

// A callAt is a call that began so long after the server's return.
type callAt struct {
	after time.Duration
	err   error
}

// restart restarts a server, which is down for so long, while a call begins every 50 ms, and until three seconds after
// its return. It returns those that began after it.
func restart(t *testing.T, client healthpb.HealthClient, stop, start func(), down time.Duration) []callAt {
	t.Helper()
	require.NoError(t, check(t.Context(), client))
	stop()
	began := time.Now()
	var mu sync.Mutex
	var calls []callAt
	var group sync.WaitGroup
	for returned := false; time.Since(began) < down+3*time.Second; time.Sleep(50 * time.Millisecond) {
		if !returned && time.Since(began) >= down {
			returned = true
			start()
		}
		group.Go(func() {
			after := time.Since(began) - down
			err := check(t.Context(), client)
			mu.Lock()
			defer mu.Unlock()
			if after >= 0 {
				calls = append(calls, callAt{after, err})
			}
		})
	}
	group.Wait()
	return calls
}

// lastFailure returns after which time calls begin that all succeed.
func lastFailure(calls []callAt) (last time.Duration) {
	for _, c := range calls {
		if c.err != nil {
			last = max(last, c.after)
		}
	}
	return last
}

// With the waits of the package comment, calls succeed soon after the return of a server that was down for 10 s.
func TestRestart(t *testing.T) {
	for range 20 {
		bubble(t, "", func(t *testing.T) {
			params, o := asDocumented()
			s := &service{answer: always(nil)}
			s.start()
			defer func() { s.server.Stop() }()
			client := dial(t, "passthrough:///memory", o, params, grpc.WithContextDialer(s.connect))
			calls := restart(t, client, s.server.Stop, s.start, 10*time.Second)
			require.Less(t, lastFailure(calls), longest)
			require.NotEmpty(t, calls)
		})
	}
}

// The same over TCP and in real time. With -v it prints how long calls failed.
func TestRestartTCP(t *testing.T) {
	if *down == 0 {
		t.Skip("needs -down, for example -down 10s")
	}
	address := "127.0.0.1:0"
	var server *grpc.Server
	start := func() {
		listener, err := net.Listen("tcp", address)
		require.NoError(t, err)
		address = listener.Addr().String()
		server = grpc.NewServer()
		healthpb.RegisterHealthServer(server, &service{answer: always(nil)})
		go server.Serve(listener)
	}
	start()
	defer func() { server.Stop() }()

	params, o := asDocumented()
	calls := restart(t, dial(t, address, o, params), func() { server.Stop() }, start, *down)
	t.Logf("%d calls after the return; the last that failed began after %v", len(calls), lastFailure(calls))
	require.Less(t, lastFailure(calls), longest)
}
