package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

// newFile returns the DSN of a new SQLite database that never waits for a lock by itself, with a
// counter that is zero and an empty ledger.
func newFile(t *testing.T, journal string) string {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=busy_timeout(0)&_pragma=synchronous(OFF)"
	db := open(t, dsn)
	cases.Execute(t, db, "PRAGMA journal_mode = "+journal)
	cases.Execute(t, db, emptyLedger...)
	return dsn
}

// emptyLedger creates a counter that is zero and an empty ledger.
var emptyLedger = []string{
	"CREATE TABLE counter (n INT)",
	"INSERT INTO counter VALUES (0)",
	"CREATE TABLE ledger (writer INT, turn INT, n INT)",
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
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

// requireEntries requires that the database holds want entries, each of which counted once.
func requireEntries(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var counter, entries, turns, counts int
	require.NoError(t, db.QueryRow("SELECT n FROM counter").Scan(&counter))
	require.NoError(t, db.QueryRow(`SELECT count(*), count(DISTINCT writer || '/' || turn), count(DISTINCT n)
		FROM ledger`).Scan(&entries, &turns, &counts))
	require.Equal(t, [4]int{want, want, want, want}, [4]int{counter, entries, turns, counts},
		"counter, entries, different turns, different counts")
}

// zeroWaits is a policy for tests with few.
func zeroWaits() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }

// Many writers share a file, each with connections of its own, and none loses an update or makes one twice.
func TestWriters(t *testing.T) {
	const writers, turns = 10, 20
	for _, journal := range []string{"delete", "wal"} {
		for _, lock := range []string{"deferred", "immediate"} {
			t.Run(journal+" "+lock, func(t *testing.T) {
				db := open(t, newFile(t, journal)+"&_txlock="+lock)
				var retries atomic.Int64
				var held atomic.Bool
				met := make(chan struct{})
				o := sqlretry.Options{MaxRetries: math.MaxInt, Policy: cases.ShortWaits, Notify: func(context.Context, int, error, time.Duration) {
					if retries.Add(1) == 1 {
						close(met)
					}
				}}
				errs := make([]error, writers)
				var group sync.WaitGroup
				for writer := range writers {
					group.Go(func() {
						for turn := range turns {
							errs[writer] = errors.Join(errs[writer], sqlretry.Do(t.Context(), db, o, func(_ context.Context, tx *sql.Tx) error {
								err := enter(tx, writer, turn)
								if err == nil && held.CompareAndSwap(false, true) {
									<-met // once, keep the lock until another writer has run into it
								}
								return err
							}))
						}
					})
				}
				group.Wait()
				require.NoError(t, errors.Join(errs...))
				t.Log(writers*turns, "transactions,", retries.Load(), "retries")
				requireEntries(t, db, writers*turns)
			})
		}
	}
}

// What a reader that holds on to the file does to a writer's Commit: it can be repeated, and is.
func TestBusyCommit(t *testing.T) {
	db := open(t, newFile(t, "delete"))
	reader, err := db.Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow("SELECT n FROM counter").Scan(&n))
	calls := 0
	err = sqlretry.Do(t.Context(), db, sqlretry.Options{Policy: zeroWaits, Notify: func(_ context.Context, _ int, err error, _ time.Duration) {
		require.ErrorContains(t, err, "SQLITE_BUSY")
		require.Equal(t, 1, calls)
		require.NoError(t, reader.Rollback())
	}}, func(_ context.Context, tx *sql.Tx) error {
		calls++
		return enter(tx, 1, 1) // succeeds beside the reader; Commit does not
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	requireEntries(t, db, 1)
}

// In WAL mode a transaction that has read cannot write once another has written.
func TestBusySnapshot(t *testing.T) {
	dsn := newFile(t, "wal")
	db, other := open(t, dsn), open(t, dsn)
	var codes []int
	err := sqlretry.Do(t.Context(), db, sqlretry.Options{Policy: zeroWaits, Notify: func(_ context.Context, _ int, err error, _ time.Duration) {
		var e *sqlite.Error
		require.ErrorAs(t, err, &e)
		codes = append(codes, e.Code())
	}}, func(_ context.Context, tx *sql.Tx) error {
		var n int
		if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
			return err
		}
		if codes == nil {
			require.NoError(t, sqlretry.Do(t.Context(), other, sqlretry.Options{}, func(_ context.Context, tx *sql.Tx) error {
				return enter(tx, 2, 1)
			}))
		}
		return enter(tx, 1, 1)
	})
	require.NoError(t, err)
	require.Equal(t, []int{517}, codes, "SQLITE_BUSY_SNAPSHOT")
	requireEntries(t, db, 2)
}

// The errors of SQLite are known by the driver's codes and texts.
func TestRepeatable(t *testing.T) {
	dsn := newFile(t, "delete")
	writer, err := open(t, dsn+"&_txlock=exclusive").Begin()
	require.NoError(t, err)
	_, busy := open(t, dsn).Exec("UPDATE counter SET n = 1")
	require.NoError(t, writer.Rollback())

	tx, err := open(t, dsn).Begin()
	require.NoError(t, err)
	rows, err := tx.Query("SELECT n FROM counter")
	require.NoError(t, err)
	require.True(t, rows.Next())
	_, locked := tx.Exec("DROP TABLE counter")
	require.NoError(t, rows.Close())
	require.NoError(t, tx.Rollback())
	for code, err := range map[string]error{"(5)": busy, "(6)": locked} {
		require.ErrorContains(t, err, code)
		require.True(t, sqlretry.Retryable(err))
	}
}
