package cases

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
	"example.com/backoff/sqlretry"
)

var hostile = flag.Duration("hostile", time.Second/2, "how long each hostile part of TestServers and of the tests of SQLite lasts")

func pick[T any](values ...T) T { return values[rand.IntN(len(values))] }

// appError is an error of the business whose code looks like one of SQLite's.
type appError int

func (e appError) Error() string { return "no such user" }
func (e appError) Code() int     { return int(e) }

var errPanic = errors.New("panic")

// Hostile lets writers of one database be disturbed: by each other, by contexts that end, by errors of the business,
// by panics, and by what disturb does, which is called again and again. No entry of theirs may be lost, or made
// although they failed. With -v it prints the counts. cuts says that disturb ends connections, so that transactions
// fail.
func Hostile(t *testing.T, open func(t *testing.T) *sql.DB, cuts bool, disturb func()) {
	t.Helper()
	const writers, places = 8, 5
	h := &hostility{check: open(t), cuts: cuts, slots: backoff.NewSlots(places)}
	Execute(t, h.check,
		"DROP TABLE IF EXISTS counter",
		"DROP TABLE IF EXISTS ledger",
		"CREATE TABLE counter (n INT)",
		"INSERT INTO counter VALUES (0)",
		"CREATE TABLE ledger (writer INT, turn INT, n INT)",
		"CREATE UNIQUE INDEX once ON ledger (writer, turn)")

	var group sync.WaitGroup
	start := time.Now()
	for writer := range writers {
		db := open(t)
		group.Go(func() {
			for turn := 0; time.Since(start) < *hostile; turn++ {
				h.write(t, db, writer, turn)
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

	t.Logf("%d calls, %d retries: %d transactions done, %d refused, %d ended by their context, %d cut, %d failed",
		h.calls.Load(), h.retries.Load(), h.done.Load(), h.refused.Load(), h.ended.Load(), h.cut.Load(), h.failed.Load())
	t.Logf("updates lost: %d, done although they failed: %d; errors of the business repeated: %d",
		h.lost.Load(), h.doubled.Load(), h.repeated.Load())
	require.Zero(t, h.lost.Load()+h.doubled.Load()+h.repeated.Load()+h.failed.Load())
	require.Positive(t, h.done.Load())
	require.LessOrEqual(t, h.most.Load(), int64(places), "transactions at once")
	require.Zero(t, h.slots.InUse())

	var counter, entries, counts int64
	require.NoError(t, again(func() error { return h.check.QueryRow("SELECT n FROM counter").Scan(&counter) }))
	require.NoError(t, again(func() error {
		return h.check.QueryRow("SELECT count(*), count(DISTINCT n) FROM ledger").Scan(&entries, &counts)
	}))
	require.GreaterOrEqual(t, entries, h.done.Load())
	require.Equal(t, [2]int64{entries, entries}, [2]int64{counter, counts}, "each entry has counted once")
}

// A hostility is one run of Hostile, and what came of it.
type hostility struct {
	check *sql.DB
	cuts  bool
	slots *backoff.Slots

	calls, retries, done, refused, ended, cut, failed atomic.Int64
	lost, doubled, repeated, inside, most             atomic.Int64
}

// A turn is one transaction of a writer.
type turn struct {
	outcome    error // of the function, after its entry
	entered    int   // how often it came so far
	committing bool  // the last time it returned nil
}

// write makes one transaction, and counts what became of it.
func (h *hostility) write(t *testing.T, db *sql.DB, writer, number int) {
	ctx, cancel := context.WithTimeout(t.Context(), pick(time.Millisecond, 10*time.Millisecond, time.Minute, time.Minute, time.Minute))
	defer cancel()
	now := turn{outcome: pick(nil, nil, nil, nil, error(pick[appError](5, 6, 261, 262)), backoff.Permanent(appError(500)), errPanic)}
	err := h.do(ctx, db, &now, writer, number)

	if now.outcome != nil && now.entered > 1 {
		h.repeated.Add(1) // although it came so far that its own error ended it
	}
	found := int64(0)
	query := fmt.Sprintf("SELECT count(*) FROM ledger WHERE writer = %d AND turn = %d", writer, number)
	if err := again(func() error { return h.check.QueryRow(query).Scan(&found) }); err != nil {
		t.Error(err)
	}
	if err != nil && !now.committing { // otherwise the Commit may have been done
		h.doubled.Add(found)
	}
	switch {
	case err == nil:
		h.done.Add(1)
		h.lost.Add(1 - found)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, backoff.ErrNoSlot):
		h.ended.Add(1)
	case now.outcome != nil && now.entered > 0:
		h.refused.Add(1)
	case h.cuts:
		h.cut.Add(1)
	default:
		t.Log(err)
		h.failed.Add(1)
	}
}

// do calls sqlretry.Do, and returns the value of a panic as an error.
func (h *hostility) do(ctx context.Context, db *sql.DB, now *turn, writer, number int) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = value.(error)
		}
	}()
	return sqlretry.Do(ctx, db, sqlretry.Options{
		Tx:         &sql.TxOptions{Isolation: sql.LevelSerializable},
		Slots:      h.slots,
		MaxRetries: math.MaxInt,
		Policy:     ShortWaits,
		Notify:     func(context.Context, int, error, time.Duration) { h.retries.Add(1) },
	}, func(_ context.Context, tx *sql.Tx) error {
		h.calls.Add(1)
		inside := h.inside.Add(1)
		defer h.inside.Add(-1)
		for most := h.most.Load(); inside > most && !h.most.CompareAndSwap(most, inside); {
			most = h.most.Load()
		}

		now.committing = false
		if err := enter(tx, writer, number); err != nil {
			return fmt.Errorf("enter: %w", err)
		}
		now.entered++
		if now.outcome == errPanic {
			panic(now.outcome)
		}
		now.committing = now.outcome == nil
		return now.outcome
	})
}

// enter adds one to the counter, by reading and writing it, and notes that in the ledger.
func enter(tx *sql.Tx, writer, turn int) error {
	var n int
	if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec(fmt.Sprintf("INSERT INTO ledger VALUES (%d, %d, %d)", writer, turn, n+1)); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	_, err := tx.Exec(fmt.Sprintf("UPDATE counter SET n = %d", n+1))
	return err
}
