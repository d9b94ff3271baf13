// Package policies has policies for other packages.
package policies

import (
	"time"

	"example.com/backoff"
)

var (
	Quick  = backoff.NewExponentialBackOff()
	Slow   = backoff.NewLinearBackOff(time.Minute)
	Steady = backoff.NewConstantBackOff(time.Second)

	// Its type does not say which policy it is.
	Named backoff.BackOff = backoff.NewExponentialBackOff()

	Users backoff.Retrier
)
