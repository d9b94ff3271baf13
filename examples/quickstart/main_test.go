//go:build go1.25

package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A busy service is asked again, an unknown user is not.
func TestFetchUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api = client{}

		user, err := FetchUser(t.Context(), "ada")
		require.NoError(t, err)
		require.Equal(t, "Ada", user.Name)
		require.Equal(t, 2, api.calls)

		_, err = FetchUser(t.Context(), "bob")
		require.Equal(t, ErrNotFound, err)
		require.Equal(t, 3, api.calls)
	})
}
