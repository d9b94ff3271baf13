package grpcretry

import (
	"cmp"
	"sync"

	"google.golang.org/grpc"

	"example.com/backoff"
)

// maxTargets is how many targets a generation holds.
const maxTargets = 1000

// targets holds the slots of each target, in two generations: when the recent one is full, the old one is forgotten. So
// the memory is bounded, and a target that is called keeps its slots.
type targets struct {
	mu     sync.Mutex
	recent map[string]*backoff.Slots
	old    map[string]*backoff.Slots
}

// slots returns the slots of cc's target. In a test, cc may be nil.
func (t *targets) slots(cc *grpc.ClientConn) *backoff.Slots {
	target := ""
	if cc != nil {
		target = cc.Target()
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	if slots := t.recent[target]; slots != nil {
		return slots
	}

	if t.recent == nil || len(t.recent) == maxTargets {
		t.old = t.recent
		t.recent = make(map[string]*backoff.Slots)
	}
	slots := cmp.Or(t.old[target], new(backoff.Slots))
	t.recent[target] = slots
	return slots
}
