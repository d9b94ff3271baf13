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

// hosts holds a budget for each host, in two generations of 5,000. The key is a hash, because a redirect may bring a
// name of megabytes.
type hosts struct {
	mu     sync.Mutex
	recent map[uint64]*backoff.Budget
	old    map[uint64]*backoff.Budget
}

func (h *hosts) budget(service *url.URL) *backoff.Budget {
	key := maphash.String(seed, service.Scheme+"://"+service.Host)

	h.mu.Lock()
	defer h.mu.Unlock()
	if budget := h.recent[key]; budget != nil {
		return budget
	}

	if h.recent == nil || len(h.recent) == 5000 {
		h.old = h.recent
		h.recent = make(map[uint64]*backoff.Budget)
	}
	budget := cmp.Or(h.old[key], new(backoff.Budget))
	h.recent[key] = budget
	return budget
}
