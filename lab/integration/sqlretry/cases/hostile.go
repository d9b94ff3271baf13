package cases

import (
	"context"
	"database/sql"
	"errors"
	"flag"
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

// Hostile lets workers, who move money as in Transfers, be disturbed: by each other, by contexts that end, by errors of
// the business, by panics, and by what disturb does, which is called again and again. No transfer may be lost, or made
// although it failed. With -v it prints the counts. cuts says that disturb ends connections, so that transactions fail.
func Hostile(t *testing.T, open func(t *testing.T) *sql.DB, cuts bool, disturb func()) {
	t.Helper()
	const places = 5
	h := &hostility{round: newRound(t, open), cuts: cuts}
	h.options.Slots = backoff.NewSlots(places)
	h.options.MaxRetries = math.MaxInt

	var group sync.WaitGroup
	start := time.Now()
	for range workers {
		db := open(t)
		group.Go(func() {
			for time.Since(start) < *hostile {
				h.transfer(t, db, h.transactions.Add(1))
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
		h.transactions.Load(), h.calls.Load(), h.retries.Load(),
		h.done.Load(), h.refused.Load(), h.ended.Load(), h.cut.Load(), h.failed.Load())
	t.Logf("lost, or done although they failed: %d; errors of the business repeated: %d", h.wrong.Load(), h.repeated.Load())
	rows := h.rows(t)
	require.GreaterOrEqual(t, rows, h.done.Load())
	require.LessOrEqual(t, rows, h.done.Load()+h.unknown.Load())
	require.Positive(t, h.done.Load())
	require.Zero(t, h.failed.Load()+h.wrong.Load()+h.repeated.Load())
	require.LessOrEqual(t, h.most.Load(), int64(places), "transactions at once")
	require.Zero(t, h.options.Slots.InUse())
}

// A hostility is one run of Hostile, and what came of it.
type hostility struct {
	*round
	cuts bool

	transactions, calls, refused, ended, cut, repeated, inside, most atomic.Int64
}

// An attempted transfer, and how far it came.
type attempted struct {
	id         int64
	outcome    error // of the function, after its statements
	moved      int   // how often it came so far
	committing bool  // the last time it returned nil
}

// transfer makes one transfer, and counts what became of it.
func (h *hostility) transfer(t *testing.T, db *sql.DB, id int64) {
	ctx, cancel := context.WithTimeout(t.Context(), pick(time.Millisecond, 10*time.Millisecond, time.Minute, time.Minute, time.Minute))
	defer cancel()
	a := &attempted{
		id:      id,
		outcome: pick(nil, nil, nil, nil, error(pick[appError](5, 6, 261, 262)), backoff.Permanent(appError(500)), errPanic),
	}
	err := h.do(ctx, db, a)

	if a.outcome != nil && a.moved > 1 {
		h.repeated.Add(1) // although it came so far that its own error ended it
	}
	found := h.found(t, id)
	switch {
	case err == nil:
		h.wrong.Add(1 - found)
	case a.committing: // the Commit may have been done, or be done yet
		h.unknown.Add(1)
	default:
		h.wrong.Add(found)
	}
	switch {
	case err == nil:
		h.done.Add(1)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, backoff.ErrNoSlot):
		h.ended.Add(1)
	case a.outcome != nil && a.moved > 0:
		h.refused.Add(1)
	case h.cuts:
		h.cut.Add(1)
	default:
		t.Log(err)
		h.failed.Add(1)
	}
}

// do calls sqlretry.Do, and returns the value of a panic as an error.
func (h *hostility) do(ctx context.Context, db *sql.DB, a *attempted) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = value.(error)
		}
	}()
	from, to := someAccounts()
	return sqlretry.Do(ctx, db, h.options, func(ctx context.Context, tx *sql.Tx) error {
		h.calls.Add(1)
		inside := h.inside.Add(1)
		defer h.inside.Add(-1)
		for most := h.most.Load(); inside > most && !h.most.CompareAndSwap(most, inside); {
			most = h.most.Load()
		}

		a.committing = false
		if err := move1(ctx, tx, a.id, from, to); err != nil {
			return err
		}
		a.moved++
		if a.outcome == errPanic {
			panic(a.outcome)
		}
		a.committing = a.outcome == nil
		return a.outcome
	})
}
