//go:build go1.25

package connection_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/connection"
	"example.com/backoff/examples/login"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

var errDown = errors.New("down")

// dials returns a Dial whose n-th connection, from 1 on, is served by serve.
func dials(serve func(n int, conn net.Conn)) (func(context.Context) (net.Conn, error), *int) {
	times := new(int)
	return func(context.Context) (net.Conn, error) {
		*times++
		n := *times
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			serve(n, server)
		}()
		return client, nil
	}, times
}

// beat sends a line every second, for some time, or until the client has gone.
func beat(conn net.Conn, age time.Duration) {
	for start := time.Now(); time.Since(start) < age; time.Sleep(time.Second) {
		_, err := fmt.Fprintln(conn, "beat")
		if err != nil {
			return
		}
	}
}

// A server that closes each connection after a minute is listened to nearly all the time. The first ten times it is down,
// and once a connection takes too long to be made.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		pipe, served := dials(func(_ int, conn net.Conn) { beat(conn, time.Minute) })
		lines, failures := 0, 0
		client := connection.Client{
			Handle: func(line string) {
				require.Equal(t, "beat", line)
				lines++
			},
			Dial: func(ctx context.Context) (net.Conn, error) {
				switch {
				case failures < 10:
					failures++
					return nil, errDown
				case *served == 20 && failures == 10:
					failures++
					<-ctx.Done() // it hangs
					return nil, ctx.Err()
				}
				return pipe(ctx)
			},
		}

		err := client.Run(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Greater(t, lines, 55*60)
		require.Equal(t, 11, failures)
		time.Sleep(time.Second) // the server notices
	})
}

// A server that is of no use is not asked in a hot loop: it hangs up at once, greets before that, or says nothing.
func TestUseless(t *testing.T) {
	for name, serve := range map[string]func(conn net.Conn){
		"hangs up": func(net.Conn) {},
		"greets":   func(conn net.Conn) { fmt.Fprintln(conn, "hello") },
		"silent":   func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Hour)
			defer cancel()
			dial, times := dials(func(_ int, conn net.Conn) { serve(conn) })
			client := connection.Client{Dial: dial, Handle: func(string) {}}

			require.Error(t, client.Run(ctx))
			require.Less(t, *times, 11*60, name) // once in a minute in the end
			require.Greater(t, *times, 5*60, name)
		})
	}
}

// What was sent of a line when the connection broke is no line.
func TestHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, times := dials(func(n int, conn net.Conn) { fmt.Fprintf(conn, "line %d\r\nlin", n) })
		var lines []string
		ctx, cancel := context.WithCancel(t.Context())
		client := connection.Client{Dial: dial, Handle: func(line string) {
			lines = append(lines, line)
			if len(lines) == 2 {
				cancel()
			}
		}}

		err := client.Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []string{"line 1", "line 2"}, lines)
		require.Equal(t, 2, *times)
	})
}

// The end of the context ends Run, though the server is silent. The error says what had failed last.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, _ := dials(func(n int, conn net.Conn) {
			time.Sleep(time.Second) // the client reads
			if n == 2 {
				_, _ = conn.Read(make([]byte, 1))
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		start := time.Now()
		client := connection.Client{Dial: dial}

		err := client.Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, io.EOF, "the first connection's")
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

// A Dial that logs in, too, is tried again if the login hangs, and a login that hangs does not outlast Run.
func TestLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, times := dials(func(n int, conn net.Conn) {
			if n == 2 {
				fmt.Fprintln(conn, "welcome")
				beat(conn, time.Minute)
				return
			}
			_, _ = conn.Read(make([]byte, 1))
		})
		greeted := func(conn net.Conn) error {
			_, err := conn.Read(make([]byte, len("welcome\n")))
			return err
		}
		lines := 0
		client := connection.Client{
			Dial: func(ctx context.Context) (net.Conn, error) {
				return login.Once(ctx, pipe, greeted)
			},
			Handle: func(string) { lines++ },
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()

		require.ErrorIs(t, client.Run(ctx), context.DeadlineExceeded)
		require.Equal(t, 2*time.Minute, time.Since(start))
		require.Equal(t, 60, lines)
		require.InDelta(t, 7, *times, 1, "one login in ten seconds")
	})
}

// A permanent error ends Run.
func TestPermanent(t *testing.T) {
	client := connection.Client{Dial: func(context.Context) (net.Conn, error) { return nil, backoff.Permanent(errDown) }}
	require.Equal(t, errDown, client.Run(t.Context()))
}

// A thousand clients start together, and lose their connections together. The server can accept twenty of them in a
// second. Their FirstWait keeps them below that, and they are all back soon.
func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, rate = 1000, 20
		ctx, cancel := context.WithCancel(t.Context())
		defer time.Sleep(time.Minute) // all goroutines end
		defer cancel()
		var connected, dialled atomic.Int64
		inTen := make([]int64, 100) // seconds
		start := time.Now()
		broken, breakAll := context.WithCancel(ctx)
		dial := func(context.Context) (net.Conn, error) {
			n := dialled.Add(1)
			atomic.AddInt64(&inTen[time.Since(start)/(10*time.Second)], 1)
			client, server := net.Pipe()
			ends := ctx
			if n <= clients {
				ends = broken
			}
			go func() {
				connected.Add(1)
				defer connected.Add(-1)
				for ends.Err() == nil {
					select {
					case <-time.After(20 * time.Second):
					case <-ends.Done():
					}
					fmt.Fprintln(server, "beat")
				}
				server.Close()
			}()
			return client, nil
		}
		for range clients {
			client := connection.Client{Dial: dial, Handle: func(string) {}, FirstWait: 2 * clients / rate * time.Second}
			go func() { _ = client.Run(ctx) }()
		}

		time.Sleep(2 * clients / rate * time.Second)
		require.EqualValues(t, clients, connected.Load(), "after the start")
		breakAll()
		time.Sleep(3 * clients / rate * time.Second)
		require.EqualValues(t, clients, connected.Load(), "after the loss")
		require.EqualValues(t, 2*clients, dialled.Load())
		require.LessOrEqual(t, slices.Max(inTen), int64(10*rate))
		t.Logf("at most %d connections in ten seconds", slices.Max(inTen))
	})
}
