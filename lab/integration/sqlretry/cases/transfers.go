package cases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

const (
	workers   = 8
	transfers = 100
	accounts  = 6
	opening   = 1000 // in each account
)

// Transfers lets workers move money between few accounts, so that they meet. Unless disturb is nil, it is called
// again and again to lose connections. No transfer may be lost or made twice.
func Transfers(t *testing.T, open func(t *testing.T) *sql.DB, disturb func()) {
	db := open(t)
	Execute(t, db,
		"DROP TABLE IF EXISTS account",
		"DROP TABLE IF EXISTS transfer",
		"CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)",
		"CREATE TABLE transfer (id INT PRIMARY KEY)")
	for id := range accounts {
		Execute(t, db, fmt.Sprintf("INSERT INTO account VALUES (%d, %d)", id, opening))
	}

	var retries atomic.Int64
	o := sqlretry.Options{
		Tx:          &sql.TxOptions{Isolation: sql.LevelSerializable},
		MaxAttempts: 201,
		Policy: func() backoff.BackOff {
			return backoff.NewExponentialBackOff(
				backoff.WithInitialInterval(time.Millisecond), backoff.WithMaxInterval(20*time.Millisecond))
		},
		Notify: func(context.Context, int, error, time.Duration) { retries.Add(1) },
	}
	stop := repeat(disturb)
	var errs [transfers]error
	var group errgroup.Group
	group.SetLimit(workers)
	for id := range errs {
		group.Go(func() error {
			from := rand.IntN(accounts)
			to := (from + 1 + rand.IntN(accounts-1)) % accounts
			errs[id] = sqlretry.Do(t.Context(), db, o, func(ctx context.Context, tx *sql.Tx) error {
				return transfer(ctx, tx, id, from, to)
			})
			return nil
		})
	}
	_ = group.Wait()
	stop()

	check := open(t) // whose connections nobody has killed
	for id, err := range errs {
		made := Number(t, check, fmt.Sprintf("SELECT count(*) FROM transfer WHERE id = %d", id))
		if disturb == nil || !errors.Is(err, sqlretry.ErrOutcomeUnknown) {
			require.NoError(t, err)
			require.Equal(t, 1, made)
		}
	}
	require.Equal(t, accounts*opening, Number(t, check, "SELECT sum(balance) FROM account"))
	t.Log("retries:", retries.Load())
}

// repeat calls f every few milliseconds until stop is called. A nil f does nothing.
func repeat(f func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for f != nil && ctx.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
			f()
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// transfer moves 1 from one account to another.
func transfer(ctx context.Context, tx *sql.Tx, id, from, to int) error {
	err := Run(ctx, tx, fmt.Sprintf("INSERT INTO transfer VALUES (%d)", id))
	if err != nil {
		return err
	}
	for account, amount := range map[int]int{from: -1, to: 1} {
		var balance int
		err := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT balance FROM account WHERE id = %d", account)).Scan(&balance)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		err = Run(ctx, tx, fmt.Sprintf("UPDATE account SET balance = %d WHERE id = %d", balance+amount, account))
		if err != nil {
			return err
		}
	}
	return nil
}
