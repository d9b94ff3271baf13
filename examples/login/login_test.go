//go:build go1.25

package login_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/login"
)

var errRefused = errors.New("wrong password")

// A server answers the n-th login with the n-th of its answers: "ok", "busy" or "refused". If that is empty, it says nothing. It
// counts the connections that it has, and those that were made.
type server struct {
	answers []string
	made    int
	open    atomic.Int64
}

// dial makes a connection to the server.
func (s *server) dial(context.Context) (net.Conn, error) {
	s.made++
	answer := s.answers[s.made-1]
	client, conn := net.Pipe()
	s.open.Add(1)
	go func() {
		defer s.open.Add(-1)
		lines := bufio.NewReader(conn)
		for {
			_, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if answer != "" {
				fmt.Fprintln(conn, answer)
			}
		}
	}()
	return client, nil
}

// logIn sends a password and reads the answer.
func logIn(conn net.Conn) error {
	fmt.Fprintln(conn, "password")
	answer, err := bufio.NewReader(conn).ReadString('\n')
	switch {
	case err != nil:
		return err
	case answer == "refused\n":
		return backoff.Permanent(errRefused)
	case answer == "busy\n":
		return errors.New("busy")
	}
	return nil
}

// Only the connection of the successful login is left, and it lives on after the time of its attempt.
func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answers: []string{"busy", "", "ok"}}
		start := time.Now()
		conn, err := login.Open(t.Context(), s.dial, logIn)
		require.NoError(t, err)
		require.Greater(t, time.Since(start), 2*time.Second, "the second attempt hangs")

		time.Sleep(time.Minute)
		require.Equal(t, 3, s.made)
		require.EqualValues(t, 1, s.open.Load())
		fmt.Fprintln(conn, "hello")
		answer, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ok\n", answer)
		conn.Close()
		synctest.Wait()
	})
}

// A wrong password is sent once.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answers: []string{"refused"}}
		_, err := login.Open(t.Context(), s.dial, logIn)
		require.Equal(t, errRefused, err)
		synctest.Wait()
		require.Zero(t, s.open.Load())
	})
}

// A login that succeeds in the moment when its time is over leaves no connection, nor does the caller's end.
func TestEnd(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answers: []string{"", ""}}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := login.Open(ctx, s.dial, func(conn net.Conn) error {
				_, err := io.ReadAll(conn)
				if deaf {
					return nil
				}
				return err
			})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			synctest.Wait()
			require.Zero(t, s.open.Load())
			require.Equal(t, 2, s.made)
		})
	}
}
