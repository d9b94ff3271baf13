package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/recipes/sqlretry"
)

var hostile = flag.Duration("hostile", time.Second, "how long TestHostile lasts")

func pick[T any](values ...T) T { return values[rand.IntN(len(values))] }

// TestHostile lets writers of one SQLite file be disturbed: by each other, by locks that others hold,
// by contexts that end, by errors of the business whose codes look like SQLite's, and by panics. With
// -v it prints the counts.
func TestHostile(t *testing.T) {
	const writers = 8
	for _, journal := range []string{"delete", "wal"} {
		t.Run(journal, func(t *testing.T) {
			dsn := newFile(t, journal)
			check := open(t, dsn)
			execute(t, check, "CREATE UNIQUE INDEX once ON ledger (writer, turn)")
			var transactions, calls, retries, done, refused, ended, panics, failed atomic.Int64
			var lost, doubled, repeated atomic.Int64
			start := time.Now()
			write := func(db *sql.DB, writer, turn int) {
				ctx, cancel := context.WithTimeout(t.Context(), pick(time.Millisecond, 10*time.Millisecond, time.Minute, time.Minute, time.Minute))
				defer cancel()
				outcome := pick("", "", "", "", "refuse", "flaw", "panic")
				n, err := 0, error(nil)
				func() {
					defer func() {
						if recover() != nil {
							err = errors.New("panic")
						}
					}()
					err = sqlretry.Do(ctx, db, sqlretry.Options{
						Tx:     pick(nil, &sql.TxOptions{Isolation: sql.LevelSerializable}),
						Policy: shortWaits,
						Notify: func(error, time.Duration) { retries.Add(1) },
					}, func(tx *sql.Tx) error {
						calls.Add(1)
						if err := enter(tx, writer, turn); err != nil {
							return fmt.Errorf("enter: %w", err)
						}
						n++
						switch outcome {
						case "refuse":
							return &appError{pick(5, 6, 261, 262), "no such user", nil}
						case "flaw":
							return backoff.Permanent(&appError{500, "flaw", nil})
						case "panic":
							panic("panic")
						}
						return nil
					})
				}()
				if outcome != "" && n > 1 {
					repeated.Add(1) // although it came so far that its own error ended it
				}
				var found int
				for check.QueryRow("SELECT count(*) FROM ledger WHERE writer = ? AND turn = ?", writer, turn).Scan(&found) != nil {
					continue // SQLITE_BUSY: the test's own connection is a victim, too
				}
				var app *appError
				switch {
				case err == nil:
					done.Add(1)
					lost.Add(int64(1 - found))
				case errors.Is(err, context.DeadlineExceeded): // the Commit may have been done
					ended.Add(1)
				case errors.As(err, &app) && outcome != "":
					refused.Add(1)
					doubled.Add(int64(found))
				case err.Error() == "panic":
					panics.Add(1)
					doubled.Add(int64(found))
				default:
					t.Log(err)
					failed.Add(1)
				}
			}
			var group sync.WaitGroup
			for writer := range writers {
				db := open(t, dsn+"&_txlock="+pick("deferred", "immediate"))
				group.Go(func() {
					for turn := 0; time.Since(start) < *hostile/2; turn++ {
						transactions.Add(1)
						write(db, writer, turn)
					}
				})
			}
			group.Go(func() { // who locks the file, and does nothing with it
				db := open(t, dsn+"&_txlock=exclusive")
				for time.Since(start) < *hostile/2 {
					if tx, err := db.Begin(); err == nil {
						time.Sleep(pick(0, time.Millisecond, 5*time.Millisecond))
						tx.Rollback()
					}
					time.Sleep(pick(time.Millisecond, 10*time.Millisecond))
				}
			})
			group.Wait()
			t.Logf("%d transactions, %d calls, %d retries: %d done, %d refused, %d panics, %d ended by their context, %d failed",
				transactions.Load(), calls.Load(), retries.Load(), done.Load(), refused.Load(), panics.Load(), ended.Load(), failed.Load())
			t.Logf("updates lost: %d, done although they failed: %d; errors of the business repeated: %d", lost.Load(), doubled.Load(), repeated.Load())
			require.Zero(t, lost.Load()+doubled.Load()+repeated.Load()+failed.Load())
			var entries int
			require.NoError(t, check.QueryRow("SELECT count(*) FROM ledger").Scan(&entries))
			require.GreaterOrEqual(t, entries, int(done.Load()))
			requireEntries(t, check, entries)
		})
	}
}
