package cases

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

	"example.com/backoff/sqlretry"
)

var transfers = flag.Int("transfers", 0, "transfers in each of three rounds of TestServers and TestSQLite, half as many again where connections are lost; 0 means 100 in one round")

const (
	workers  = 8
	accounts = 6
	opening  = 1000 // in each account
)

// Transfers lets workers move money between few accounts, so that they meet. Unless disturb is nil, it is called
// again and again to lose connections. No transfer may be lost or made twice.
func Transfers(t *testing.T, open func(t *testing.T) *sql.DB, disturb func()) {
	t.Helper()
	rounds, count := 3, *transfers
	if count == 0 {
		rounds, count = 1, 100
	}
	if disturb != nil {
		count += count / 2
	}
	for range rounds {
		newRound(t, open).run(t, count, disturb)
	}
}

// A round is one run of Transfers, and what came of it.
type round struct {
	check   *sql.DB
	db      *sql.DB
	options sqlretry.Options

	retries, done, unknown, took, failed, wrong atomic.Int64
}

func newRound(t *testing.T, open func(t *testing.T) *sql.DB) *round {
	t.Helper()
	r := &round{check: open(t), db: open(t)}
	Execute(t, r.check,
		"DROP TABLE IF EXISTS account",
		"DROP TABLE IF EXISTS transfer",
		"CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)",
		"CREATE TABLE transfer (id INT PRIMARY KEY)")
	for id := range accounts {
		Execute(t, r.check, fmt.Sprintf("INSERT INTO account VALUES (%d, %d)", id, opening))
	}
	r.options = sqlretry.Options{
		Tx:         &sql.TxOptions{Isolation: sql.LevelSerializable},
		MaxRetries: 200,
		Policy:     shortWaits,
		Notify:     func(context.Context, int, error, time.Duration) { r.retries.Add(1) },
	}
	return r
}

func (r *round) run(t *testing.T, count int, disturb func()) {
	t.Helper()
	var next atomic.Int64
	var group, disturber sync.WaitGroup
	stop := make(chan struct{})
	if disturb != nil {
		disturber.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(10)) * time.Millisecond):
					disturb()
				}
			}
		})
	}
	for range workers {
		group.Go(func() {
			for id := next.Add(1); id <= int64(count); id = next.Add(1) {
				r.transfer(t, id)
			}
		})
	}
	group.Wait()
	close(stop)
	disturber.Wait()

	t.Logf("%d transfers: %d done, %d with an unknown outcome, of which %d took effect; %d failed; %d retries",
		count, r.done.Load(), r.unknown.Load(), r.took.Load(), r.failed.Load(), r.retries.Load())
	require.Equal(t, r.done.Load()+r.took.Load(), r.rows(t))
	require.Zero(t, r.failed.Load()+r.wrong.Load())
	if disturb == nil {
		require.Zero(t, r.unknown.Load())
	}
}

// rows returns how many transfers were made. It requires that each has moved its money.
func (r *round) rows(t *testing.T) (rows int64) {
	t.Helper()
	var sum int64
	require.NoError(t, again(func() error { return r.check.QueryRow("SELECT sum(balance) FROM account").Scan(&sum) }))
	require.NoError(t, again(func() error { return r.check.QueryRow("SELECT count(*) FROM transfer").Scan(&rows) }))
	require.EqualValues(t, accounts*opening, sum)
	return rows
}

// transfer moves 1 from one account to another.
func (r *round) transfer(t *testing.T, id int64) {
	from, to := someAccounts()
	err := sqlretry.Do(t.Context(), r.db, r.options, func(ctx context.Context, tx *sql.Tx) error {
		return move1(ctx, tx, id, from, to)
	})

	found := r.found(t, id)
	switch {
	case err == nil:
		r.done.Add(1)
		r.wrong.Add(1 - found)
	case errors.Is(err, sqlretry.ErrOutcomeUnknown):
		r.unknown.Add(1)
		r.took.Add(found)
	default:
		t.Log(err)
		r.failed.Add(1)
		r.wrong.Add(found)
	}
}

// found returns one if a transfer was made, and else zero.
func (r *round) found(t *testing.T, id int64) (n int64) {
	err := again(func() error {
		return r.check.QueryRow(fmt.Sprintf("SELECT count(*) FROM transfer WHERE id = %d", id)).Scan(&n)
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// someAccounts returns two of the accounts.
func someAccounts() (from, to int) {
	from = rand.IntN(accounts)
	return from, (from + 1 + rand.IntN(accounts-1)) % accounts
}

func move1(ctx context.Context, tx *sql.Tx, id int64, from, to int) error {
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO transfer VALUES (%d)", id)); err != nil {
		return err
	}
	for account, amount := range map[int]int{from: -1, to: 1} {
		var balance int
		read := fmt.Sprintf("SELECT balance FROM account WHERE id = %d", account)
		if err := tx.QueryRowContext(ctx, read).Scan(&balance); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		write := fmt.Sprintf("UPDATE account SET balance = %d WHERE id = %d", balance+amount, account)
		if _, err := tx.ExecContext(ctx, write); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// again calls a query of the test's own, whose connection is a victim, too, until it succeeds.
func again(query func() error) error {
	var err error
	for range 1000 {
		err = query()
		if err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}
