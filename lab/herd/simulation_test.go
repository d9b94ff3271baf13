package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Events happen in the order of their times, and of their scheduling, also if events schedule them.
func TestSimulationOrder(t *testing.T) {
	s := &simulation{}
	var order []string
	add := func(at time.Duration, name string, then func()) {
		s.schedule(at, func() {
			require.Equal(t, at, s.clock.now)
			order = append(order, name)
			then()
		})
	}
	nothing := func() {}
	add(5, "5 a", func() {
		add(5, "5 d", nothing)
		add(time.Hour, "last", nothing)
		add(6, "6", nothing)
	})
	add(7, "7 a", nothing)
	add(5, "5 b", nothing)
	add(1, "1", nothing)
	add(7, "7 b", nothing)
	add(5, "5 c", nothing)
	s.run()
	require.Equal(t, []string{"1", "5 a", "5 b", "5 c", "5 d", "6", "7 a", "7 b", "last"}, order)
}
