// Package policies has policies for other packages.
package policies

import (
	"time"

	"example.com/backoff"
)

var (
	Quick  = func() *backoff.ExponentialBackOff { return backoff.NewExponentialBackOff() }()
	Slow   = backoff.NewLinearBackOff(time.Minute)
	Steady = backoff.NewConstantBackOff(time.Second)

	// Their types do not say which policies they are.
	Named backoff.BackOff = backoff.NewExponentialBackOff()

	// A function makes a policy for each loop.
	Each = backoff.NewExponentialBackOff
)
