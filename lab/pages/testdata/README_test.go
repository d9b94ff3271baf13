package page

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A service is a database that answers a ping, or a query, with what it is told to.
type service struct {
	driver.Conn
	answer func(ctx context.Context) error
}

func (s *service) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *service) Driver() driver.Driver                        { return nil }
func (s *service) Close() error                                 { return nil }
func (s *service) Ping(ctx context.Context) error               { return s.answer(ctx) }

func (s *service) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	return nil, s.answer(ctx)
}

// answering calls f in a bubble, with a database that answers so.
func answering(t *testing.T, answer func(ctx context.Context) error, f func(t *testing.T, db *sql.DB)) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&service{answer: answer})
		defer db.Close()
		f(t, db)
	})
}

// busy fails, and counts how often.
func busy(attempts *int) func(context.Context) error {
	return func(context.Context) error {
		*attempts++
		return errors.New("busy")
	}
}

// The plain loop makes four attempts, with waits of at most 3.6 s in all.
func TestPing(t *testing.T) {
	for range 1000 {
		attempts := 0
		answering(t, busy(&attempts), func(t *testing.T, db *sql.DB) {
			start := time.Now()
			require.EqualError(t, ping(t.Context(), db), "busy")
			require.Equal(t, 4, attempts)
			require.LessOrEqual(t, time.Since(start), 3600*time.Millisecond)
		})
	}
}

// The loop with a ticker pings until it has an answer, however long that takes, handles messages all the time, and ends
// with its context.
func TestServe(t *testing.T) {
	pings := 0
	down := func(context.Context) error {
		pings++
		if pings < 100 {
			return errors.New("starting")
		}
		return nil
	}
	answering(t, down, func(t *testing.T, db *sql.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		messages := make(chan string)
		go func() {
			defer close(messages)
			for range 100 {
				messages <- "message"
				time.Sleep(time.Minute)
			}
			<-ctx.Done()
		}()
		handled := 0

		err := serve(ctx, db, messages, func(string) { handled++ })

		require.Equal(t, context.DeadlineExceeded, err)
		require.Equal(t, 100, pings)
		require.Equal(t, 100, handled)
	})
}

// However long the waits are, four attempts that fail at once fit into the five seconds of a call, and a call whose
// attempts hang takes no longer.
func TestWorstCase(t *testing.T) {
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for range 1000 {
		attempts := 0
		users.Budget = new(backoff.Budget)
		answering(t, busy(&attempts), func(t *testing.T, db *sql.DB) {
			_, err := userName(t.Context(), db, 42)
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
			require.Equal(t, 4, attempts)
		})
		users.Budget = new(backoff.Budget)
		answering(t, hang, func(t *testing.T, db *sql.DB) {
			start := time.Now()
			_, err := userName(t.Context(), db, 42)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(start), 5*time.Second)
			require.Equal(t, 504, status(err))
		})
	}
}

// A user that is not there is asked for once.
func TestNotFound(t *testing.T) {
	attempts := 0
	missing := func(context.Context) error {
		attempts++
		return sql.ErrNoRows
	}
	answering(t, missing, func(t *testing.T, db *sql.DB) {
		_, err := userName(t.Context(), db, 42)
		require.Equal(t, sql.ErrNoRows, err)
		require.Equal(t, 404, status(err))
		require.Equal(t, 1, attempts)
	})
}
