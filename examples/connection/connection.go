// Package connection keeps a connection to a server for as long as a program runs, and connects again when it is lost.
//
// What may happen twice: a line. After a break, the server decides what it sends again. So some lines may come twice, and
// others not at all. Number them where that matters.
//
// What must hold of the server: it sends a line at least every [Silence], such as a heartbeat. A server that vanishes
// without closing the connection is noticed by its silence alone.
package connection

import (
	"bufio"
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"example.com/backoff"
)

// Silence is how long the server may send nothing.
const Silence = 30 * time.Second

const (
	dialTimeout = 10 * time.Second
	steady      = 10 * time.Second // a connection that brings lines for so long is a good one
	longestLine = 64 << 10
)

// A Client is for one connection.
type Client struct {
	// Dial makes a connection, such as the method of a net.Dialer. Its context ends after ten seconds, and Dial must return
	// then. The context also ends when Dial returns, and must not end the connection. An error that no retry will mend,
	// such as a wrong password, is marked with [backoff.Permanent].
	//
	// If Dial logs in as well, it must close the connection when the context ends. Once of examples/login does that. Its
	// Open would try again by itself, inside each attempt of Run.
	Dial func(ctx context.Context) (net.Conn, error)

	// Handle is called for each line, one after the other. At a line of more than 64 KiB the connection is given up.
	Handle func(line string)

	// FirstWait is the wait after the first failure. Zero means half a second.
	//
	// Many clients that lose their connections together need a longer one: 2 × clients ÷ connections that the server
	// can accept in a second. For 20,000 clients and 400 connections a second that is 100 s. Run then also waits before
	// it connects for the first time, for up to FirstWait.
	FirstWait time.Duration
}

// Run connects, handles the lines, and connects again, until ctx ends or Dial returns a permanent error. If ctx has
// ended, the error matches its error and the last failure.
func (c *Client) Run(ctx context.Context) error {
	if c.FirstWait > 0 {
		err := sleep(ctx, rand.N(c.FirstWait))
		if err != nil {
			return err
		}
	}

	first := cmp.Or(c.FirstWait, backoff.DefaultInitialInterval)
	policy := backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first),
		backoff.WithMaxInterval(max(backoff.DefaultMaxInterval, 4*first)),
		backoff.WithMaxElapsedTime(0), // never give up
	), ctx)

	return backoff.RetryNotify(func() error {
		conn, err := c.connect(ctx)
		if err != nil {
			return err
		}
		return c.read(ctx, conn, policy.Reset)
	}, policy, func(err error, wait time.Duration) {
		slog.WarnContext(ctx, "disconnected", "err", err, "wait", wait)
	})
}

// connect makes a connection. Its time is over when Dial returns: the connection lives on.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return c.Dial(ctx)
}

// read handles the lines of a connection until it is lost, and closes it. It calls good at each line of a steady
// connection, so that the waits after it are short again. A server that accepts connections and then says nothing, or
// greets and hangs up, gets waits that grow.
func (c *Client) read(ctx context.Context, conn net.Conn, good func()) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	start := time.Now()
	lines := bufio.NewReaderSize(listener{conn}, longestLine)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err // io.EOF too, and half a line is none
		}
		if time.Since(start) >= steady {
			good()
		}
		c.Handle(strings.TrimRight(string(line), "\r\n"))
	}
}

// A listener gives each Read its own time.
type listener struct {
	conn net.Conn
}

// Read reads for as long as the server may be silent.
func (l listener) Read(data []byte) (int, error) {
	err := l.conn.SetReadDeadline(time.Now().Add(Silence))
	if err != nil {
		return 0, err
	}
	return l.conn.Read(data)
}

// sleep waits, and returns an error if ctx ends meanwhile.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
