package page

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The programs of each pair make the same calls at the same times, and end with an error that matches the last.
func TestPairs(t *testing.T) {
	busy := errors.New("busy")
	for _, pair := range [][2]func(ctx context.Context, op func() error) error{
		{
			func(ctx context.Context, op func() error) error {
				_, err := loadV7(ctx, func() (string, error) { return "", op() })
				return err
			},
			func(ctx context.Context, op func() error) error {
				_, err := loadHere(ctx, func(context.Context) (string, error) { return "", op() })
				return err
			},
		},
		{
			fetchRetryGo,
			func(ctx context.Context, op func() error) error {
				return fetchHere(ctx, func(context.Context) error { return op() })
			},
		},
	} {
		for _, failures := range []error{busy, ErrNotFound} {
			var calls [2][]time.Duration
			for i, program := range pair {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					err := program(t.Context(), func() error {
						calls[i] = append(calls[i], time.Since(start))
						return failures
					})
					require.ErrorIs(t, err, failures)
				})
			}
			require.Equal(t, calls[0], calls[1])
		}
	}
}
