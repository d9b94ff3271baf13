package httpretry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// An upload is a request's body that an attempt sends. Each Read that brings bytes is progress. net/http may read
// and close it even after RoundTrip has returned.
type upload struct {
	io.ReadCloser
	attempt *attempt
	turn    chan struct{} // holds one token, which Read takes for as long as it reads
	left    int64         // bytes that the request's ContentLength promises; below zero if it promises none
}

// upload returns body as a sends it.
func (a *attempt) upload(body io.ReadCloser) *upload {
	u := &upload{ReadCloser: body, attempt: a, turn: make(chan struct{}, 1), left: a.original.ContentLength}
	if u.left == 0 { // unknown, as there is a body
		u.left = -1
	}
	u.turn <- struct{}{}

	a.mu.Lock()
	defer a.mu.Unlock()
	a.uploads = append(a.uploads, u)
	a.open = u
	return u
}

// endUploads lets no Read of the request's body begin any more, and waits for one that has begun, but not for longer
// than discardTime: the next body may be the same reader, sought back to its start.
func (a *attempt) endUploads() {
	limit, stop := context.WithTimeout(a.original.Context(), discardTime)
	defer stop()

	a.mu.Lock()
	uploads := slices.Clone(a.uploads)
	a.mu.Unlock()
	for _, u := range uploads {
		select {
		case <-u.turn:
		case <-limit.Done():
		}
	}
}

func (u *upload) Read(p []byte) (int, error) {
	select {
	case <-u.turn:
	default:
		return 0, http.ErrBodyReadAfterClose
	}
	defer func() { u.turn <- struct{}{} }()

	n, err := u.ReadCloser.Read(p)
	if n > 0 {
		u.attempt.silence.restart()
	}
	if u.left < 0 {
		return n, err
	}
	u.left -= int64(n)
	if u.left == 0 && err == nil {
		return u.checkEnd(n)
	}
	return n, err
}

// checkEnd returns n, the bytes that the last Read brought, if there are no more. Otherwise the server would receive
// a part of the body as the whole: net/http looks only after it has sent this part.
func (u *upload) checkEnd(n int) (int, error) {
	more, err := u.ReadCloser.Read(make([]byte, 1))
	if more > 0 {
		return 0, fmt.Errorf("http: ContentLength=%d with a longer body", u.attempt.original.ContentLength)
	}
	return n, err
}

func (u *upload) Close() error {
	defer u.attempt.closed(u)
	return u.ReadCloser.Close()
}

// closed is called when u is closed.
func (a *attempt) closed(u *upload) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open != u {
		return
	}
	a.open = nil
	if a.ended {
		a.cancel()
	}
}
