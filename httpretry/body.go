package httpretry

import (
	"fmt"
	"io"
	"time"
)

// A body is a response's body. A Read that fails, or Close, ends its attempt.
type body struct {
	io.ReadCloser
	attempt *attempt
	read    int64 // bytes
	late    error // of a Read that took longer than BodyTimeout
}

func (b *body) Read(p []byte) (int, error) {
	if b.late != nil {
		return 0, b.late
	}
	n, err := b.readInTime(p)
	if err != nil { // not every caller closes what has ended
		b.attempt.cancel()
	}
	return n, err
}

// readInTime ends the attempt, and so the Read, if that takes longer than BodyTimeout.
func (b *body) readInTime(p []byte) (int, error) {
	timeout := b.attempt.call.transport.BodyTimeout
	if timeout <= 0 {
		return b.ReadCloser.Read(p)
	}

	timer := time.AfterFunc(timeout, b.attempt.cancel)
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	inTime := timer.Stop()
	if inTime || err == io.EOF {
		return n, err
	}
	b.late = &timeoutError{text: fmt.Sprintf("no data within %v, after %d bytes of the response's body", timeout, b.read)}
	return n, b.late
}

func (b *body) Close() error {
	defer b.attempt.cancel()
	return b.ReadCloser.Close()
}
