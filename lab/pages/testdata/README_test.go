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

// A Retrier without fields makes as many attempts.
func TestPingAgain(t *testing.T) {
	attempts := 0
	answering(t, busy(&attempts), func(t *testing.T, db *sql.DB) {
		require.ErrorIs(t, pingAgain(t.Context(), db), backoff.ErrRetriesExhausted)
		require.Equal(t, 4, attempts)
	})
}

// The loop with a ticker pings until it has an answer, and ends with its context. If no answer comes in a quarter of an
// hour, it says so. Meanwhile it does other work.
func TestConnect(t *testing.T) {
	for _, test := range []struct {
		pings int // until an answer
		limit time.Duration
		want  error
	}{
		{10, time.Hour, nil},
		{100, time.Hour, errors.New("the server does not answer")},
		{100, time.Minute, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.limit)
			defer cancel()
			pings := 0
			ping := func(context.Context) error {
				pings++
				if pings < test.pings {
					return errors.New("starting")
				}
				return nil
			}
			jobs := make(chan func(), 1)
			worked := false
			jobs <- func() { worked = true }
			require.Equal(t, test.want, connect(ctx, ping, jobs))
			require.LessOrEqual(t, pings, test.pings)
			require.True(t, worked)
		})
	}
}

// The loop over Attempts tries again while the database is busy, and asks once for what is not there.
func TestFindName(t *testing.T) {
	attempts := 0
	answering(t, busy(&attempts), func(t *testing.T, db *sql.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := findName(ctx, db, 42)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "busy")
		require.Greater(t, attempts, 5)
	})

	attempts = 0
	missing := func(context.Context) error {
		attempts++
		return sql.ErrNoRows
	}
	answering(t, missing, func(t *testing.T, db *sql.DB) {
		_, err := findName(t.Context(), db, 42)
		require.Equal(t, sql.ErrNoRows, err)
		require.Equal(t, 1, attempts)
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
		answering(t, busy(&attempts), func(t *testing.T, db *sql.DB) {
			_, err := userName(t.Context(), db, 42)
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
			require.Equal(t, 4, attempts)
		})
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
