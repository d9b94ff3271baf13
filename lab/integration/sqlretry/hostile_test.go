package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

var hostile = flag.Duration("hostile", time.Second/2, "how long each part of TestHostile and TestPostgres/hostile lasts")

func pick[T any](values ...T) T { return values[rand.IntN(len(values))] }

// appError is an error of the business whose code looks like one of SQLite's.
type appError int

func (e appError) Error() string { return "no such user" }
func (e appError) Code() int     { return int(e) }

var errPanic = errors.New("panic")

// testHostile lets writers of one database be disturbed: by each other, by contexts that end, by errors
// of the business, by panics, and by what disturb does, which is called again and again. With -v it
// prints the counts. cuts says that disturb ends connections, so that transactions fail.
func testHostile(t *testing.T, open func() *sql.DB, cuts bool, disturb func()) {
	const writers, places = 8, 5
	slots := backoff.NewSlots(places)
	check := open()
	cases.Execute(t, check, "CREATE UNIQUE INDEX once ON ledger (writer, turn)")
	var transactions, calls, retries, done, refused, ended, cut, failed atomic.Int64
	var lost, doubled, repeated, inside, most atomic.Int64
	start := time.Now()
	write := func(db *sql.DB, writer, turn int) {
		ctx, cancel := context.WithTimeout(t.Context(), pick(time.Millisecond, 10*time.Millisecond, time.Minute, time.Minute, time.Minute))
		defer cancel()
		outcome := pick(nil, nil, nil, nil, error(pick[appError](5, 6, 261, 262)), backoff.Permanent(appError(500)), errPanic)
		entered, committing, err := 0, false, error(nil)
		func() {
			defer func() {
				if value := recover(); value != nil {
					err = value.(error)
				}
			}()
			err = sqlretry.Do(ctx, db, sqlretry.Options{
				Tx:         &sql.TxOptions{Isolation: sql.LevelSerializable},
				Slots:      slots,
				MaxRetries: math.MaxInt,
				Policy:     cases.ShortWaits,
				Notify:     func(context.Context, int, error, time.Duration) { retries.Add(1) },
			}, func(_ context.Context, tx *sql.Tx) error {
				calls.Add(1)
				now := inside.Add(1)
				defer inside.Add(-1)
				for highest := most.Load(); now > highest && !most.CompareAndSwap(highest, now); {
					highest = most.Load()
				}
				committing = false
				if err := enter(tx, writer, turn); err != nil {
					return fmt.Errorf("enter: %w", err)
				}
				entered++
				if outcome == errPanic {
					panic(outcome)
				}
				committing = outcome == nil
				return outcome
			})
		}()
		if outcome != nil && entered > 1 {
			repeated.Add(1) // although it came so far that its own error ended it
		}
		found := 0
		for check.QueryRow(fmt.Sprintf("SELECT count(*) FROM ledger WHERE writer = %d AND turn = %d", writer, turn)).Scan(&found) != nil {
			continue // the test's own connection is a victim, too
		}
		if err != nil && !committing { // otherwise the Commit may have been done
			doubled.Add(int64(found))
		}
		switch {
		case err == nil:
			done.Add(1)
			lost.Add(int64(1 - found))
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, backoff.ErrNoSlot):
			ended.Add(1)
		case outcome != nil && entered > 0:
			refused.Add(1)
		case cuts:
			cut.Add(1)
		default:
			t.Log(err)
			failed.Add(1)
		}
	}
	var group sync.WaitGroup
	for writer := range writers {
		db := open()
		group.Go(func() {
			for turn := 0; time.Since(start) < *hostile; turn++ {
				transactions.Add(1)
				write(db, writer, turn)
			}
		})
	}
	group.Go(func() {
		for time.Since(start) < *hostile {
			disturb()
			time.Sleep(pick(time.Millisecond, 10*time.Millisecond))
		}
	})
	group.Wait()
	t.Logf("%d transactions, %d calls, %d retries: %d done, %d refused, %d ended by their context, %d cut, %d failed",
		transactions.Load(), calls.Load(), retries.Load(), done.Load(), refused.Load(), ended.Load(), cut.Load(), failed.Load())
	t.Logf("updates lost: %d, done although they failed: %d; errors of the business repeated: %d", lost.Load(), doubled.Load(), repeated.Load())
	require.Zero(t, lost.Load()+doubled.Load()+repeated.Load()+failed.Load())
	require.LessOrEqual(t, most.Load(), int64(places), "transactions at once")
	require.Zero(t, slots.InUse())
	var entries int
	require.NoError(t, sqlretry.Do(t.Context(), check, sqlretry.Options{}, func(_ context.Context, tx *sql.Tx) error {
		return tx.QueryRow("SELECT count(*) FROM ledger").Scan(&entries)
	}))
	require.GreaterOrEqual(t, entries, int(done.Load()))
	requireEntries(t, check, entries)
}

// SQLite's file is also locked by somebody who does nothing with it.
func TestHostile(t *testing.T) {
	for _, journal := range []string{"delete", "wal"} {
		t.Run(journal, func(t *testing.T) {
			dsn := newFile(t, journal)
			locker := open(t, dsn+"&_txlock=exclusive")
			testHostile(t, func() *sql.DB { return open(t, dsn+"&_txlock="+pick("deferred", "immediate")) }, false, func() {
				if tx, err := locker.Begin(); err == nil {
					time.Sleep(pick(0, time.Millisecond, 5*time.Millisecond))
					tx.Rollback()
				}
			})
		})
	}
}
