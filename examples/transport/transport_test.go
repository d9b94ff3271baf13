package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func Example() {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	client := &http.Client{Transport: &Transport{
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 4)
		},
		Notify: func(err error, wait time.Duration) { fmt.Println(err, "- again in", wait) },
	}}
	response, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.Status, string(body), err)
	// Output:
	// 503 Service Unavailable - again in 1ms
	// 503 Service Unavailable - again in 1ms
	// 200 OK hello <nil>
}

// A run is one request against a server that answers with statuses, one after the other and then
// the last for ever. Status 0 cuts the connection off.
type run struct {
	transport Transport
	requests  atomic.Int32
	bodies    []string
	remotes   map[string]bool
	waits     []time.Duration
	header    http.Header // of the answers that fail
	arrived   func()
}

func (r *run) do(t *testing.T, request *http.Request, statuses ...int) (*http.Response, error) {
	t.Helper()
	r.remotes = map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		n := int(r.requests.Add(1))
		body, _ := io.ReadAll(in.Body)
		r.bodies = append(r.bodies, string(body))
		r.remotes[in.RemoteAddr] = true
		if r.arrived != nil {
			r.arrived()
		}
		status := statuses[min(n, len(statuses))-1]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		if status >= 400 {
			for name := range r.header {
				w.Header().Set(name, r.header.Get(name))
			}
		}
		w.WriteHeader(status)
		fmt.Fprint(w, strings.Repeat("answer ", 1000))
	}))
	t.Cleanup(server.Close)
	if r.transport.Policy == nil {
		r.transport.Policy = func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }
	}
	r.transport.Notify = func(_ error, wait time.Duration) { r.waits = append(r.waits, wait) }
	target, err := request.URL.Parse(server.URL)
	require.NoError(t, err)
	request.URL = target
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	r.transport.Base = base
	return r.transport.RoundTrip(request)
}

func newRequest(t *testing.T, method, body string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, "http://placeholder", reader)
	require.NoError(t, err)
	return request
}

func TestStatusesThatAreRetried(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 504} {
		r := new(run)
		response, err := r.do(t, newRequest(t, http.MethodGet, ""), status, status, 200)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode)
		require.EqualValues(t, 3, r.requests.Load())
	}
	for _, status := range []int{200, 301, 400, 404, 501} {
		r := new(run)
		response, err := r.do(t, newRequest(t, http.MethodGet, ""), status)
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode)
		require.EqualValues(t, 1, r.requests.Load())
	}
}

func TestNetworkErrorsAreRetried(t *testing.T) {
	r := new(run)
	response, err := r.do(t, newRequest(t, http.MethodGet, ""), 0, 0, 200)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)

	r = new(run)
	_, err = r.do(t, newRequest(t, http.MethodGet, ""), 0)
	require.ErrorIs(t, err, io.EOF)
	require.EqualValues(t, 4, r.requests.Load())
}

func TestOnlyRepeatableRequestsAreRepeated(t *testing.T) {
	keyed := newRequest(t, http.MethodPost, "body")
	keyed.Header.Set("Idempotency-Key", "1")
	once := newRequest(t, http.MethodPut, "body")
	once.GetBody = nil
	for name, test := range map[string]struct {
		request *http.Request
		want    int
	}{
		"GET":                    {newRequest(t, http.MethodGet, ""), 4},
		"no method":              {newRequest(t, "", ""), 4},
		"PUT":                    {newRequest(t, http.MethodPut, "body"), 4},
		"DELETE":                 {newRequest(t, http.MethodDelete, ""), 4},
		"POST":                   {newRequest(t, http.MethodPost, "body"), 1},
		"PATCH":                  {newRequest(t, http.MethodPatch, "body"), 1},
		"POST with a key":        {keyed, 4},
		"PUT that can't rewind":  {once, 1},
		"POST without key, body": {newRequest(t, http.MethodPost, ""), 1},
	} {
		r := new(run)
		response, err := r.do(t, test.request, 503)
		require.NoError(t, err, name)
		require.Equal(t, 503, response.StatusCode, name)
		require.EqualValues(t, test.want, r.requests.Load(), name)
	}
}

func TestBodyIsRewound(t *testing.T) {
	r := new(run)
	_, err := r.do(t, newRequest(t, http.MethodPut, "the body"), 503, 503, 200)
	require.NoError(t, err)
	require.Equal(t, []string{"the body", "the body", "the body"}, r.bodies)
}

func TestBodyThatCannotBeRewoundEndsTheRetries(t *testing.T) {
	errRewind := errors.New("rewind")
	request := newRequest(t, http.MethodPut, "the body")
	request.GetBody = func() (io.ReadCloser, error) { return nil, errRewind }
	r := new(run)
	_, err := r.do(t, request, 503)
	require.Same(t, errRewind, err)
	require.EqualValues(t, 1, r.requests.Load())
}

// A connection is used again only if the body of the answer before has been read and closed.
func TestDiscardedAnswersAreDrainedAndClosed(t *testing.T) {
	r := new(run)
	_, err := r.do(t, newRequest(t, http.MethodGet, ""), 503, 503, 200)
	require.NoError(t, err)
	require.Len(t, r.remotes, 1)
}

func TestLastAnswerIsHandedOnUnread(t *testing.T) {
	r := new(run)
	response, err := r.do(t, newRequest(t, http.MethodGet, ""), 503)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 7000, len(body))
	require.NoError(t, response.Body.Close())
}

func TestRetryAfterIsHonouredUpToALimit(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":     0,
		"0":    0,
		"junk": 0,
		"3600": 3 * time.Millisecond,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): 3 * time.Millisecond,
	} {
		r := &run{header: http.Header{"Retry-After": {value}}}
		r.transport.MaxRetryAfter = 3 * time.Millisecond
		_, err := r.do(t, newRequest(t, http.MethodGet, ""), 503, 200)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{want}, r.waits)
	}
}

func TestContextOfTheRequestEndsTheRetries(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{arrived: cancel}
	_, err := r.do(t, newRequest(t, http.MethodGet, "").WithContext(ctx), 503)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, r.requests.Load())

	// A wait past the deadline is not begun, and the answer at hand is the caller's.
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r = new(run)
	r.transport.Policy = func() backoff.BackOff { return backoff.NewConstantBackOff(time.Hour) }
	response, err := r.do(t, newRequest(t, http.MethodGet, "").WithContext(ctx), 503)
	require.NoError(t, err)
	require.Equal(t, 503, response.StatusCode)
	require.EqualValues(t, 1, r.requests.Load())
}

func TestRequestsShareTheBudget(t *testing.T) {
	r := &run{transport: Transport{Budget: backoff.Budget{Capacity: 10}}}
	_, err := r.do(t, newRequest(t, http.MethodGet, ""), 503)
	require.NoError(t, err)
	require.EqualValues(t, 3, r.requests.Load(), "two retries are paid for")
	_, err = r.do(t, newRequest(t, http.MethodGet, ""), 503)
	require.NoError(t, err)
	require.EqualValues(t, 4, r.requests.Load(), "and no third")
}

func TestZeroTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer server.Close()
	client := http.Client{Transport: new(Transport)}
	request, err := http.NewRequest(http.MethodPut, server.URL, bytes.NewBufferString("echo"))
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "echo", string(body))
}
