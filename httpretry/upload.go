package httpretry

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// An upload is the body of an attempt's request. net/http may read and close it even after RoundTrip has returned.
type upload struct {
	io.ReadCloser
	attempt *attempt
	read    int64 // bytes
	closed  atomic.Bool
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.read += int64(n)
	u.attempt.silence.restartAt(u.read)

	ended := err == io.EOF && !u.closed.Load() // after Close, EOF says nothing about the length
	changed := u.attempt.call.length.check(u.read, ended)
	if changed != nil {
		return n, changed
	}
	return n, err
}

func (u *upload) Close() error {
	u.closed.Store(true)
	return u.ReadCloser.Close()
}

// A length is what the attempts have learned of the length of the request's body. It tells a body that is sent again
// from another one, such as a buffer that has been read already, before the server takes that for the whole.
type length struct {
	mu      sync.Mutex
	seen    int64 // most bytes that an attempt has read
	whole   bool  // these are all
	changed error
}

// check returns an error if a body ends before what another attempt has seen, or goes on after what was the whole. read
// is how many bytes an attempt has read so far, and ended whether there are no more.
func (l *length) check(read int64, ended bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	shorter := ended && read < l.seen
	longer := l.whole && read > l.seen
	if shorter || longer {
		l.changed = fmt.Errorf("http: the request's body has changed: %d bytes, and %d in an earlier attempt", read, l.seen)
		return l.changed
	}
	l.seen = max(l.seen, read)
	l.whole = l.whole || ended
	return nil
}

// err returns what check has found.
func (l *length) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}
