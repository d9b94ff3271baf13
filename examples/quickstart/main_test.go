//go:build go1.25

package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A busy service is asked until it answers.
func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pings = 0

		require.NoError(t, Ping(t.Context()))
		require.Equal(t, 3, pings)
	})
}

// A busy service is asked again. A user that it does not know is asked for once.
func TestFetchUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gets = 0

		user, err := FetchUser(t.Context(), "42")
		require.NoError(t, err)
		require.Equal(t, "Ada", user)
		require.Equal(t, 2, gets)

		_, err = FetchUser(t.Context(), "43")
		require.Equal(t, ErrNotFound, err)
		require.Equal(t, 3, gets)
	})
}
