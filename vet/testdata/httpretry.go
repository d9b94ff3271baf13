// Package httpretry has the names that the tests use.
package httpretry

import (
	"net/http"

	"example.com/backoff"
)

type Transport struct {
	MaxAttempts int
	Slots       *backoff.Slots
	Budget      *backoff.Budget
	Policy      func() backoff.BackOff
}

func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) { return nil, nil }
