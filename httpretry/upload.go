package httpretry

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// An upload is a body of the request, as an attempt sends it. net/http may read and close it even after RoundTrip has
// returned.
type upload struct {
	io.ReadCloser
	attempt *attempt
	read    int64 // bytes
	closed  atomic.Bool
}

// upload returns body as a sends it.
func (a *attempt) upload(body io.ReadCloser) *upload {
	a.lifetime.bodyBegins()
	return &upload{ReadCloser: body, attempt: a}
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.read += int64(n)
	u.attempt.silence.restartAt(u.read)

	whole := err == io.EOF && !u.closed.Load() // a body that is closed may end anywhere
	changed := u.attempt.call.length.check(u.read, whole)
	if changed != nil {
		return n, changed
	}
	return n, err
}

func (u *upload) Close() error {
	if !u.closed.Swap(true) {
		u.attempt.lifetime.bodyEnds()
	}
	return u.ReadCloser.Close()
}

// A length is what the attempts have learned of the length of the request's body. It tells a body that is sent again
// from another one, such as a buffer that has been read already, before the server takes that for the whole.
type length struct {
	mu      sync.Mutex
	least   int64 // bytes that have been read
	known   bool  // there are no more
	changed error
}

// check returns an error if an attempt has read so many bytes, and perhaps the whole body, and another one's body was
// longer or shorter.
func (l *length) check(read int64, whole bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	shorter := whole && read < l.least
	longer := l.known && read > l.least
	if shorter || longer {
		l.changed = fmt.Errorf("http: the request's body has changed: %d bytes, and %d in an earlier attempt", read, l.least)
		return l.changed
	}
	l.least = max(l.least, read)
	l.known = l.known || whole
	return nil
}

// err returns what check has found.
func (l *length) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}
