package httpretry

import (
	"cmp"
	"hash/maphash"
	"net/url"
	"sync"

	"example.com/backoff"
)

// seed is for the keys of all hosts.
var seed = maphash.MakeSeed()

// hosts holds slots for each host, in two generations of 5,000. The key is a hash, because a redirect may bring a
// name of megabytes.
type hosts struct {
	mu     sync.Mutex
	recent map[uint64]*backoff.Slots
	old    map[uint64]*backoff.Slots
}

func (h *hosts) slots(service *url.URL) *backoff.Slots {
	key := maphash.String(seed, service.Scheme+"://"+service.Host)

	h.mu.Lock()
	defer h.mu.Unlock()
	if slots := h.recent[key]; slots != nil {
		return slots
	}

	if h.recent == nil || len(h.recent) == 5000 {
		h.old = h.recent
		h.recent = make(map[uint64]*backoff.Slots)
	}
	slots := cmp.Or(h.old[key], new(backoff.Slots))
	h.recent[key] = slots
	return slots
}
