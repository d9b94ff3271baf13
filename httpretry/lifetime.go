package httpretry

import (
	"context"
	"sync"
)

// A lifetime ends an attempt's context: over HTTP/1 when the response has ended, because net/http then stops sending the
// request. Over HTTP/2 net/http goes on, so the context also lives until all bodies of the request are closed. (There
// are several if net/http sends the request again by itself.) Not every one is closed: it may be silent for no longer
// than an attempt.
type lifetime struct {
	cancel  context.CancelFunc
	silence *silence // the attempt's

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
	case !l.ended:
		l.silence.start()
	}
	l.ended = true
}
