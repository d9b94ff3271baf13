// Package integration_test compares the clients with each other.
package integration_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

// The clients have the fields of a Retrier, with the same names and types. Where a function of a client is told
// more, that stands here.
func TestFields(t *testing.T) {
	retrier := reflect.TypeFor[backoff.Retrier]()
	for _, client := range []struct {
		fields reflect.Type
		others map[string]string // types that are another than Retrier's
		more   []string          // fields of its own
	}{
		{
			fields: reflect.TypeFor[httpretry.Transport](),
			others: map[string]string{
				"Retryable": "func(*http.Request, *http.Response, error) bool",
				"Notify":    "func(*http.Request, int, error, time.Duration)",
				"Done":      "func(*http.Request, int, error)",
			},
			more: []string{"Base", "BodyTimeout", "Idempotent"},
		},
		{
			fields: reflect.TypeFor[grpcretry.Options](),
			others: map[string]string{
				"Notify": "func(context.Context, string, int, error, time.Duration)",
				"Done":   "func(context.Context, string, int, error)",
			},
			more: []string{"Idempotent"},
		},
		{
			fields: reflect.TypeFor[sqlretry.Options](),
			more:   []string{"Tx"},
		},
	} {
		t.Run(client.fields.String(), func(t *testing.T) {
			for _, field := range reflect.VisibleFields(retrier) {
				own, ok := client.fields.FieldByName(field.Name)
				require.True(t, ok, "it has no %s", field.Name)
				want := field.Type.String()
				if other, ok := client.others[field.Name]; ok {
					want = other
				}
				require.Equal(t, want, own.Type.String(), field.Name)
			}

			var more []string
			for _, field := range reflect.VisibleFields(client.fields) {
				_, ok := retrier.FieldByName(field.Name)
				if field.IsExported() && !ok {
					more = append(more, field.Name)
				}
			}
			slices.Sort(more)
			require.Equal(t, client.more, more)
		})
	}
}
