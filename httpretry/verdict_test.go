//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// What an attempt may be for the slots.
const (
	quick  = "quick"   // makes more slots than are usual, while others are late
	inTime = "in time" // does not
	late   = "late"    // begins a limit
)

// An ending is a base whose attempts end in one way. AttemptTimeout is a second.
type ending struct {
	name   string
	base   baseFunc
	change func(*httpretry.Transport, *http.Request) // nil for no change
	want   map[string]string                         // by method
}

func all(want string) map[string]string {
	return map[string]string{"GET": want, "PUT": want, "POST": want}
}

// byMethod is what the attempts of idempotent requests are, and of others.
func byMethod(idempotent, others string) map[string]string {
	return map[string]string{"GET": idempotent, "PUT": idempotent, "POST": others}
}

var endings = []ending{
	{"200", status(200), nil, all(quick)},
	{"404", status(404), nil, all(quick)},
	{"429", status(429), nil, all(inTime)},
	{"503", status(503), nil, byMethod(inTime, quick)},
	{"503 that Retryable refuses", status(503), refusing, all(quick)},
	{"504", status(504), nil, all(late)},
	{"504 that Retryable refuses", status(504), refusing, all(late)},
	{"504 of an attempt that made progress", afterProgress(status(504)), nil, all(late)},
	{"broken", fails(io.ErrUnexpectedEOF), nil, byMethod(inTime, quick)},
	{"refused", fails(errDial), nil, all(inTime)},
	{"unknown host", fails(&net.DNSError{Err: "no such host", IsNotFound: true}), nil, all(quick)},
	{"invalid header", fails(errors.New("net/http: invalid header field name")), nil, all(quick)},
	{"Permanent of the base", fails(backoff.Permanent(io.EOF)), nil, all(quick)},

	{"silent", silence, nil, all(late)},
	{"silent, sent once", silence, func(_ *httpretry.Transport, r *http.Request) { r.GetBody = nil }, all(late)},
	{"silent until the deadline", silence, untilDeadline, all(late)},
	{"silent until the deadline, and then another error", func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, io.EOF
	}, untilDeadline, all(late)},
	{"canceled", silence, func(t *httpretry.Transport, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		*r = *r.WithContext(ctx)
	}, all(inTime)},
	{"a timeout of the base", fails(os.ErrDeadlineExceeded), nil, all(late)},
	{"a response after AttemptTimeout", after(2*time.Second, status(200)), nil, all(late)},

	{"200 after progress", afterProgress(status(200)), nil, all(inTime)},
	{"503 after progress", afterProgress(status(503)), nil, all(inTime)},
	{"broken after progress", afterProgress(fails(io.ErrUnexpectedEOF)), nil, all(inTime)},
	{"reset after progress", afterProgress(fails(&net.OpError{Op: "read", Err: io.EOF})), nil, all(inTime)},
	{"silent after progress", afterProgress(silence), nil, all(late)},
	{"a timeout of the base after progress", afterProgress(fails(os.ErrDeadlineExceeded)), nil, all(late)},
	{"a deadline of the base after progress", afterProgress(fails(deadline{})), nil, all(late)},
	{"PermanentError of nothing after progress", afterProgress(fails(new(backoff.PermanentError))), nil, all(inTime)},
	{"Permanent after progress", afterProgress(fails(backoff.Permanent(io.EOF))), nil, all(inTime)},
}

// untilDeadline leaves the limit of an attempt to the deadline, which comes soon.
func untilDeadline(t *httpretry.Transport, r *http.Request) {
	t.AttemptTimeout = -1
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	context.AfterFunc(ctx, cancel)
	*r = *r.WithContext(ctx)
}

// deadline is an error that matches context.DeadlineExceeded, and has no method Timeout.
type deadline struct{}

func (deadline) Error() string        { return "too late" }
func (deadline) Is(target error) bool { return target == context.DeadlineExceeded }

func refusing(t *httpretry.Transport, _ *http.Request) {
	t.Retryable = func(*http.Request, *http.Response, error) bool { return false }
}

func status(code int) baseFunc {
	return func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: code}, nil }
}

func fails(err error) baseFunc {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func silence(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func after(wait time.Duration, base baseFunc) baseFunc {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(wait)
		return base(req)
	}
}

// afterProgress is base after a connection and a write that together take longer than AttemptTimeout, but not each.
func afterProgress(base baseFunc) baseFunc {
	return func(req *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(req.Context())
		trace.GetConn("localhost:80")
		time.Sleep(900 * time.Millisecond)
		trace.GotConn(httptrace.GotConnInfo{})
		time.Sleep(900 * time.Millisecond)
		trace.WroteRequest(httptrace.WroteRequestInfo{})
		return base(req)
	}
}

// An attempt is late by the clock of this package, not by the Retrier's, or if the server says so by a 504. The rest is
// in time; and quick, if it is an answer and has not taken long.
func TestLate(t *testing.T) {
	for _, test := range endings {
		for method, want := range test.want {
			t.Run(test.name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { require.Equal(t, want, test.observe(t, method)) })
			})
		}
	}
}

// observe makes attempts that end in this way, and returns what they are for the slots.
func (e ending) observe(t *testing.T, method string) string {
	slots := new(backoff.Slots)
	var group sync.WaitGroup
	defer group.Wait()
	e.send(t, 50, method, slots, &group)
	if slots.Limit() < math.MaxInt {
		return late
	}

	hung := ending{base: silence}
	least := math.MaxInt
	for range 100 {
		e.send(t, 1, method, slots, &group)
		hung.send(t, 1, "GET", slots, &group)
		least = min(least, slots.Limit())
	}
	require.Less(t, least, math.MaxInt)
	if slots.Limit() > least+2 {
		return quick
	}
	return inTime
}

// send sends n requests, ten in a second. It returns while calls are in progress, so that nothing is forgotten.
func (e ending) send(t *testing.T, n int, method string, slots *backoff.Slots, group *sync.WaitGroup) {
	for range n {
		transport := &httpretry.Transport{
			Base:           e.base,
			AttemptTimeout: time.Second,
			MaxAttempts:    2,
			Policy:         noWaits,
			Slots:          slots,
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		req := newRequest(t, method, "http://localhost", "body").WithContext(ctx)
		if e.change != nil {
			e.change(transport, req)
		}
		group.Go(func() {
			defer cancel()
			_, _ = transport.RoundTrip(req)
		})
		time.Sleep(100 * time.Millisecond)
	}
}

// No error that a caller gets, and none that a function receives, has a verdict of this package on an attempt: it would
// decide for a Retrier of the caller's, too.
func TestVerdictHidden(t *testing.T) {
	for _, test := range endings {
		for method := range test.want {
			for _, maxAttempts := range []int{2, 1} {
				t.Run(fmt.Sprint(test.name, "/", method, "/", maxAttempts), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { test.checkHidden(t, method, maxAttempts) })
				})
			}
		}
	}
}

func (e ending) checkHidden(t *testing.T, method string, maxAttempts int) {
	var errs []error
	transport := &httpretry.Transport{
		Base:           e.base,
		AttemptTimeout: time.Second,
		MaxAttempts:    maxAttempts,
		Policy:         noWaits,
		Notify:         func(_ *http.Request, _ int, err error, _ time.Duration) { errs = append(errs, err) },
		Done:           func(_ *http.Request, _ int, err error) { errs = append(errs, err) },
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	req := newRequest(t, method, "http://localhost", "body").WithContext(ctx)
	if e.change != nil {
		e.change(transport, req)
	}
	resp, err := transport.RoundTrip(req)
	require.NotEqual(t, resp == nil, err == nil)
	for _, err := range append(errs, err) {
		require.NotContains(t, fmt.Sprintf("%T", err), "httpretry.verdict")
		var late interface{ LateAttempt() bool }
		if errors.As(err, &late) { // a Retrier's own error may have it, for a Retrier around it
			require.NotContains(t, fmt.Sprintf("%T", late), "httpretry", "%v", err)
		}
	}
}

// An error after which the request must not be sent again comes back as it is, whatever the slots hear of it.
func TestVerdictFinal(t *testing.T) {
	for method, err := range map[string]error{"POST": io.EOF, "GET": backoff.Permanent(io.EOF)} {
		synctest.Test(t, func(t *testing.T) {
			transport := &httpretry.Transport{Base: afterProgress(fails(err)), AttemptTimeout: time.Second}
			_, got := transport.RoundTrip(newRequest(t, method, "http://localhost", ""))
			require.Equal(t, io.EOF, got)
		})
	}
}
