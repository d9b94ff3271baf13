//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

// How the test of a locked row goes.
const (
	lockedFor = 6 * time.Second
	lockPool  = 10  // connections
	lockPause = 500 // milliseconds between two calls
)

// lockedRow has transactions wait for a row that another program has locked, for longer than an attempt may take. The
// server must not fill up with statements that nobody waits for any more.
func (s server) lockedRow(t *testing.T) {
	var group errgroup.Group
	for way, dsn := range s.locks {
		o := sqlretry.Options{AttemptTimeout: 1500 * time.Millisecond}
		if way == "slots" {
			o.Slots = new(backoff.Slots)
		}
		group.Go(func() error { return s.awaitRow(t, "locked_"+way, dsn, o) })
	}
	require.NoError(t, group.Wait())
}

// awaitRow runs transactions that change a row, which is locked.
func (s server) awaitRow(t *testing.T, table, dsn string, o sqlretry.Options) error {
	admin := s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS "+table, "CREATE TABLE "+table+" (n INT)", "INSERT INTO "+table+" VALUES (0)")
	holder, err := admin.Begin()
	if err != nil {
		return err
	}
	defer holder.Rollback()
	update := "UPDATE " + table + " SET n = n + 1"
	err = cases.Run(t.Context(), holder, update)
	if err != nil {
		return err
	}

	db := cases.Open(t, s.driver, dsn)
	db.SetMaxOpenConns(lockPool)
	most := 0
	calls := 0
	var group errgroup.Group
	for start := time.Now(); time.Since(start) < lockedFor; time.Sleep(lockPause * time.Millisecond) {
		calls++
		group.Go(func() error {
			return sqlretry.Do(t.Context(), db, o, func(ctx context.Context, tx *sql.Tx) error { return cases.Run(ctx, tx, update) })
		})
		other := cases.Open(t, s.driver, s.dsn) // a program that the server must not refuse
		most = max(most, cases.Number(t, other, fmt.Sprintf(s.running, update)))
		require.NoError(t, other.Close())
	}
	err = holder.Rollback()
	if err != nil {
		return err
	}
	t.Logf("%s: at most %d statements of %d calls", table, most, calls)
	require.LessOrEqual(t, most, 2*lockPool)
	err = group.Wait()
	require.Equal(t, calls, cases.Number(t, admin, "SELECT n FROM "+table))
	return err
}
