package httpretry

import (
	"cmp"
	"net/url"
	"sync"

	"example.com/backoff"
)

// hosts holds a budget for each host. It remembers the last 5,000 hosts, and at most 10,000.
type hosts struct {
	mu     sync.Mutex
	recent map[string]*backoff.Budget
	old    map[string]*backoff.Budget
}

func (h *hosts) budget(service *url.URL) *backoff.Budget {
	key := service.Scheme + "://" + service.Host

	h.mu.Lock()
	defer h.mu.Unlock()
	if budget := h.recent[key]; budget != nil {
		return budget
	}

	if h.recent == nil || len(h.recent) == 5000 {
		h.old = h.recent
		h.recent = make(map[string]*backoff.Budget)
	}
	budget := cmp.Or(h.old[key], new(backoff.Budget))
	h.recent[key] = budget
	return budget
}
