package httpretry

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
)

// An upload is the body of an attempt's request. net/http may read and close it even after RoundTrip has returned.
type upload struct {
	io.ReadCloser
	attempt *attempt
	read    int64 // bytes
	closed  bool  // guarded by the mutex of the attempt's uploads
}

func (u *upload) Read(p []byte) (int, error) {
	uploads := &u.attempt.uploads
	if !uploads.beginRead(u) {
		return 0, io.ErrClosedPipe
	}
	defer uploads.done()

	n, err := u.readOne(p)
	u.read += int64(n)
	u.attempt.silence.restartAt(u.read)

	ended := err == io.EOF && !uploads.isClosed(u) // after Close, EOF says nothing about the length
	changed := u.attempt.call.length.check(u.read, ended)
	if changed != nil {
		return n, changed
	}
	return n, err
}

// readOne reads the caller's body. A body may set the values of its request's Trailer until it ends, and net/http reads
// them after that. The attempts have copies of them, but all bodies of a call set the same ones. So one is read at a time.
// If a Read of an earlier attempt hangs, this one waits until its own attempt ends.
func (u *upload) readOne(p []byte) (int, error) {
	a := u.attempt
	if a.call.trailer == nil {
		return u.ReadCloser.Read(p)
	}

	select {
	case a.call.turn <- struct{}{}:
		defer func() { <-a.call.turn }()
	case <-a.request.Context().Done():
		return 0, a.request.Context().Err()
	}
	n, err := u.ReadCloser.Read(p)
	if err == io.EOF {
		maps.Copy(a.request.Trailer, a.call.request.Trailer)
	}
	return n, err
}

func (u *upload) Close() error {
	uploads := &u.attempt.uploads
	if uploads.beginClose(u) {
		defer uploads.done()
	}
	return u.ReadCloser.Close()
}

// uploads counts what is in use of the uploads of one attempt. There are several if net/http sends the request again by
// itself.
type uploads struct {
	mu    sync.Mutex
	inUse int           // those that are not closed, and Reads in progress
	begun bool          // there has been a Read
	over  bool          // there must not be another one: the next attempt may have begun
	idle  chan struct{} // closed when inUse is zero; nil if nobody waits for that
}

// add returns a new upload of body for a.
func (s *uploads) add(body io.ReadCloser, a *attempt) *upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse++
	return &upload{ReadCloser: body, attempt: a}
}

// beginRead notes that a Read of u begins, and reports whether it may. done must follow then.
func (s *uploads) beginRead(u *upload) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.closed || s.over {
		return false
	}
	s.begun = true
	s.inUse++
	return true
}

// beginClose notes that u is closed, and reports whether that is the first time. done must follow then.
func (s *uploads) beginClose(u *upload) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !u.closed
	u.closed = true
	return first
}

func (s *uploads) isClosed(u *upload) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.closed
}

// done notes the end of a Read, or of the first Close.
func (s *uploads) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse--
	if s.inUse == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

func (s *uploads) wasRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// end returns when no upload is in use any more, or limit has ended. It is called once. No upload is read after that.
func (s *uploads) end(limit context.Context) {
	s.mu.Lock()
	idle := make(chan struct{})
	if s.inUse == 0 {
		close(idle)
	} else {
		s.idle = idle
	}
	s.mu.Unlock()

	select {
	case <-idle:
	case <-limit.Done():
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
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
