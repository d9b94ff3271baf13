// Package httpretry has the fields that the tests use.
package httpretry

import "example.com/backoff"

type Transport struct {
	MaxRetries int
	Policy     func() backoff.BackOff
}
