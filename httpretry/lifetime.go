package httpretry

import (
	"context"
	"sync"
	"time"
)

// A lifetime ends an attempt's context.
//
// Over HTTP/1, the context lives until the response has ended: net/http does not send the rest of the request then.
// Over HTTP/2 it does, so there the context also lives until each body of the request is closed. There may be several:
// net/http sends a request again by itself. And it does not always close them, so timeout, if not zero, limits how long
// they may take once the response has ended.
type lifetime struct {
	cancel  context.CancelFunc
	timeout time.Duration

	mu     sync.Mutex
	bodies int  // of the request, that are not closed
	ended  bool // the response
}

// bodyBegins is called for each body of the request.
func (l *lifetime) bodyBegins() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies++
}

// bodyEnds is called once for each body of the request.
func (l *lifetime) bodyEnds() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies--
	if l.ended && l.bodies == 0 {
		l.cancel()
	}
}

// responseEnds is called when the response has ended, which has come over this version of HTTP. It may be called more
// than once.
func (l *lifetime) responseEnds(major int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case major < 2 || l.bodies == 0:
		l.cancel()
	case l.timeout > 0:
		time.AfterFunc(l.timeout, l.cancel)
	}
	l.ended = true
}
