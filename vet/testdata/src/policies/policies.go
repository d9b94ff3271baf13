// Package policies has a policy for other packages.
package policies

import "example.com/backoff"

var Quick = backoff.NewExponentialBackOff()
