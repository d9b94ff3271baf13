package httpretry

import (
	"fmt"
	"io"
	"sync"
)

// An upload is a request's body that an attempt sends. net/http may read and close it even after RoundTrip has
// returned.
type upload struct {
	io.ReadCloser
	attempt *attempt
	read    int64 // bytes
	closed  sync.Once
}

// upload returns body as a sends it.
func (a *attempt) upload(body io.ReadCloser) *upload {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uploads++
	return &upload{ReadCloser: body, attempt: a}
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.read += int64(n)
	u.attempt.progress(u.read)
	changed := u.attempt.call.length.check(u.read, err == io.EOF)
	if changed != nil {
		return n, changed
	}
	return n, err
}

// progress begins the attempt's timeout again if so many bytes of the request's body have not been read before. When
// net/http sends the request again by itself, the same bytes are no progress.
func (a *attempt) progress(read int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if read > a.read {
		a.read = read
		a.silence.restart()
	}
}

func (u *upload) Close() error {
	u.closed.Do(func() {
		a := u.attempt
		a.mu.Lock()
		defer a.mu.Unlock()
		a.uploads--
		if a.uploads == 0 && a.ended {
			a.cancel()
		}
	})
	return u.ReadCloser.Close()
}

// A length is what is known of the length of a request's body. It tells a body that is sent again from another one,
// such as a buffer that has been read already, before the server takes that for the whole.
type length struct {
	mu      sync.Mutex
	least   int64 // bytes that have been read of it
	whole   bool  // that is all
	changed error // it was another body
}

// check is told how many bytes of a body have been read, and whether that is all. It returns an error if another
// attempt's body was longer or shorter.
func (l *length) check(read int64, all bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	shorter := all && read < l.least
	longer := l.whole && read > l.least
	if shorter || longer {
		l.changed = fmt.Errorf("http: the request's body has changed: %d bytes, and %d in an earlier attempt", read, l.least)
		return l.changed
	}
	l.least = max(l.least, read)
	l.whole = l.whole || all
	return nil
}

// err returns an error if an attempt's body was another one.
func (l *length) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}
