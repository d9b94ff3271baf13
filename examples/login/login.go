// Package login makes a connection and logs in, and tries both again if one of them fails.
//
// What may happen twice: the login. An attempt that fails closes the connection that it has made, so that nothing is
// left of it. One that succeeds keeps its connection, though the context of the attempt ends.
//
// What must hold of the server: it ends a session when its connection is closed. If it allows one session for each user,
// the next attempt may be refused until it has noticed that.
package login

import (
	"context"
	"net"
	"time"

	"example.com/backoff"
)

// sessions is for all logins to one server.
var sessions = backoff.Retrier{
	AttemptTimeout: 2 * time.Second, // at least four times what dial and logIn usually take together
	Slots:          new(backoff.Slots),
}

// Open returns a connection on which logIn has succeeded. Each attempt is a call of [Once].
//
// A refusal, such as that of a wrong password, is marked with [backoff.Permanent]: to repeat it could lock the user out.
func Open(
	ctx context.Context,
	dial func(ctx context.Context) (net.Conn, error),
	logIn func(conn net.Conn) error,
) (net.Conn, error) {
	return backoff.DoWithData(ctx, &sessions, func(ctx context.Context) (net.Conn, error) {
		return Once(ctx, dial, logIn)
	})
}

// Once makes one attempt, for a loop of your own, whose attempts have a time limit.
//
// The context ends after the attempt, and must not end the connection: with a net.Dialer it does not. If it ends in logIn,
// the connection is closed, and that ends logIn. Nor must logIn read past the server's answer, as a bufio.Reader does.
func Once(
	ctx context.Context,
	dial func(ctx context.Context) (net.Conn, error),
	logIn func(conn net.Conn) error,
) (net.Conn, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}

	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = logIn(conn)
	if !stop() { // ctx has ended, and conn is closed, or will be
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
