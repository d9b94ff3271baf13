package httpretry

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// A silence ends an attempt that makes no progress for timeout. Zero is no limit.
type silence struct {
	timeout time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil if there is no limit
	read  int64       // bytes of the request's body
}

// start begins the timeout, which calls cancel.
func (s *silence) start(timeout time.Duration, cancel context.CancelFunc) {
	s.timeout = timeout
	if timeout > 0 {
		s.timer = time.AfterFunc(timeout, cancel)
	}
}

// restart begins the timeout again, unless it is over or has been stopped.
func (s *silence) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && s.timer.Stop() {
		s.timer.Reset(s.timeout)
	}
}

// restartAt begins the timeout again if so many bytes of the request's body have not been read before. When net/http
// sends the request again by itself, the same bytes are no progress.
func (s *silence) restartAt(read int64) {
	s.mu.Lock()
	progress := read > s.read
	s.read = max(s.read, read)
	s.mu.Unlock()
	if progress {
		s.restart()
	}
}

// stop stops the timeout, and reports whether it was over. It is called once: another call would say that it was.
func (s *silence) stop() (late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timer != nil && !s.timer.Stop()
}

// timeoutError is the error of an attempt, or of a Read of a response's body, that has taken too long. It matches what its
// cause does, but for context.Canceled: the caller has cancelled nothing.
type timeoutError struct {
	text  string
	cause error // or nil
}

func (e *timeoutError) Error() string   { return e.text }
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true } // net.Error

func (e *timeoutError) Is(target error) bool {
	switch target {
	case os.ErrDeadlineExceeded, context.DeadlineExceeded:
		return true
	case context.Canceled:
		return false
	}
	return errors.Is(e.cause, target)
}

func (e *timeoutError) As(target any) bool { return errors.As(e.cause, target) }
