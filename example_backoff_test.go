package backoff_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// schedule is a policy with a list of waits. After the last one it gives up.
type schedule struct {
	waits []time.Duration
	next  int
}

// Reset starts the list over.
func (s *schedule) Reset() { s.next = 0 }

// NextBackOff returns the next wait of the list.
func (s *schedule) NextBackOff() time.Duration {
	if s.next == len(s.waits) {
		return backoff.Stop
	}
	wait := s.waits[s.next]
	s.next++
	return wait
}

// A policy has two methods, NextBackOff and Reset.
func ExampleBackOff() {
	policy := &schedule{waits: []time.Duration{
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	}}
	connect := func() error { return errors.New("connection refused") }

	err := backoff.RetryNotify(connect, policy, func(_ error, wait time.Duration) {
		fmt.Println("wait", wait)
	})
	fmt.Println("error:", err)
	// Output:
	// wait 1ms
	// wait 2ms
	// wait 5ms
	// error: connection refused
}
