//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// sent says for each request how often it is sent if all its attempts end in the same way, with at most
// three retries; how many tokens it takes from the budget, of which a retry takes five and a success at the first
// attempt puts one in; and how many slots it holds while it is sent.
//
// The kinds of requests: once has a body and no GetBody; mark is a key without values; empty is a key with an empty
// value; yes and no are the answers of Idempotent; asks has a Retryable that also says yes to 401 and 407; none has
// MaxAttempts 1; patient has AttemptTimeout -1.
//
// The columns are a status; status 409 with X-Should-Retry; a connection that is refused; one that net/http does not
// get, for example from a proxy; a connection that is cut before the request is read, and one that is cut after it; a
// server that answers only after AttemptTimeout; an invalid value in the request's header; a URL with an unknown scheme;
// a body of the request that fails as a dial does; one that takes longer than AttemptTimeout, but not its parts; a
// response whose body neither ends nor heeds its context; a proxy and an OAuth server that refuse; a context that has
// ended; and no slot.
const sent = `
request                408     429     500     502     503     504     520     529     501     401     403     407     409true  refused  tunnel  before  after   slow    header  scheme  dialing  long    hung    proxy403  proxy407  grant  ended  full
GET                    4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  4/15/1  1/0/1   1/0/1   -        -       4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
GET,no                 1/0/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  1/-1/1  1/-1/1  1/-1/1  1/0/1    4/15/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   -        -       1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
GET,none               1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  1/-1/1  1/-1/1  1/-1/1  1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   -        -       1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
GET,patient            4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  1/-1/1  1/0/1   1/0/1   -        -       4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
GET,upgrade            1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   -        -       1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
PUT,body               4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  4/15/1  1/0/1   1/0/1   4/15/1   1/-1/1  4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
PUT,body,once          1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1   1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST                   1/0/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  1/-1/1  1/-1/1  1/-1/1  1/0/1    4/15/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   -        -       1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body              1/0/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  1/-1/1  1/-1/1  1/-1/1  1/0/1    4/15/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/-1/1  1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,asks         1/0/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  4/15/1  1/-1/1  4/15/1  1/0/1    4/15/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/-1/1  1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,once         1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1   1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,once,asks    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1   1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,upgrade      1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1   1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,key          4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  4/15/1  1/0/1   1/0/1   4/15/1   1/-1/1  4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,x-key        4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  4/15/1  1/0/1   1/0/1   4/15/1   1/-1/1  4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,mark         4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  4/15/1  1/0/1   1/0/1   4/15/1   1/-1/1  4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,empty        1/0/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  1/-1/1  1/-1/1  1/-1/1  1/0/1    4/15/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/-1/1  1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,mark,once    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1    1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/0/1   1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,yes          4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  4/15/1  1/0/1   1/0/1   4/15/1   1/-1/1  4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
POST,body,yes,patient  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  4/15/1  1/-1/1  1/-1/1  1/-1/1  1/-1/1  4/15/1   4/15/1   4/15/1  4/15/1  4/15/1  1/-1/1  1/0/1   1/0/1   4/15/1   1/-1/1  4/15/1  1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
PATCH,body             1/0/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/-1/1  1/-1/1  1/-1/1  1/-1/1  1/0/1    4/15/1   4/15/1  1/0/1   1/0/1   1/0/1   1/0/1   1/0/1   1/0/1    1/-1/1  1/0/1   1/0/1     1/0/1     1/0/1  0/0/0  0/0/0
`

func TestSent(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(sent), "\n")
	outcomes := strings.Fields(lines[0])[1:]

	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		require.Len(t, cells, len(outcomes)+1, line)
		for i, want := range cells[1:] {
			for _, major := range []int{1, 2} {
				if outcomes[i] == "before" && major == 2 { // over HTTP/2, there is no connection then
					want = cells[1+slices.Index(outcomes, "refused")]
				}
				name := fmt.Sprint(cells[0], "/", outcomes[i], "/HTTP ", major)
				t.Run(name, func(t *testing.T) {
					if want == "-" {
						t.Skip("the request has no body")
					}
					c := &cell{major: major, row: cells[0], outcome: outcomes[i]}
					require.Equal(t, want, c.send(t))
				})
			}
		}
	}
}

// A cell is a request that is sent until it has the outcome of a column.
type cell struct {
	major          int
	row, outcome   string
	budget         *backoff.Budget
	slots          *backoff.Slots
	attempts, held int
	done           []int
	open           atomic.Int32 // bodies of the request
}

func (c *cell) has(kind string) bool { return strings.Contains(c.row+",", ","+kind+",") }

// send sends the request, checks what holds for all, and returns what the table says.
func (c *cell) send(t *testing.T) string {
	c.budget = &backoff.Budget{Capacity: 100}
	require.True(t, c.budget.Withdraw(), "so that there is room for a success")
	before := c.budget.Tokens()
	c.slots = backoff.NewSlots(1)

	transport := c.transport()
	bubble(t, c.major, transport, c.answer, func(t *testing.T, _ *http.Client) {
		net := transport.Base.(*http.Transport)
		c.fail(net)
		transport.Base = baseFunc(func(req *http.Request) (*http.Response, error) { return c.roundTrip(t, net, req) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		switch c.outcome {
		case "ended":
			cancel()
		case "full":
			defer occupy(t, c.slots)()
		}

		req := c.request(t).WithContext(ctx)
		start := time.Now()
		resp, err := transport.RoundTrip(req)
		if err == nil {
			require.Less(t, time.Since(start), 5*time.Minute)
			require.NoError(t, resp.Body.Close())
		}
		require.Equal(t, c.outcome == "full", errors.Is(err, backoff.ErrNoSlot))
		require.Equal(t, []int{c.attempts}, c.done)
		require.Empty(t, req.URL.RawQuery)
		net.CloseIdleConnections()
		time.Sleep(2 * time.Hour) // until nothing of it goes on
	})
	require.Zero(t, c.slots.InUse())
	require.Zero(t, c.open.Load(), "bodies of the request that are not closed")
	return fmt.Sprint(c.attempts, "/", before-c.budget.Tokens(), "/", c.held)
}

func (c *cell) transport() *httpretry.Transport {
	transport := &httpretry.Transport{
		AttemptTimeout: 30 * time.Second,
		Policy:         noWaits,
		Budget:         c.budget,
		Slots:          c.slots,
		Done:           func(_ *http.Request, attempts int, _ error) { c.done = append(c.done, attempts) },
	}
	switch {
	case c.has("yes"):
		transport.Idempotent = func(*http.Request) bool { return true }
	case c.has("no"):
		transport.Idempotent = func(*http.Request) bool { return false }
	}
	if c.has("asks") {
		transport.Retryable = func(_ *http.Request, resp *http.Response, err error) bool {
			refused := resp != nil && (resp.StatusCode == 401 || resp.StatusCode == 407)
			return refused || httpretry.Retryable(resp, err)
		}
	}
	if c.has("none") {
		transport.MaxAttempts = 1
	}
	if c.has("patient") {
		transport.AttemptTimeout = -1
	}
	return transport
}

// fail makes the connections of base fail, if that is the outcome.
func (c *cell) fail(base *http.Transport) {
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if c.outcome == "refused" {
			return nil, errDial
		}
		conn, err := dial(ctx, network, address)
		if c.outcome == "before" {
			conn.Close()
		}
		return conn, err
	}
}

// roundTrip is an attempt. It signs the request, by its URL.
func (c *cell) roundTrip(t *testing.T, base http.RoundTripper, req *http.Request) (*http.Response, error) {
	c.attempts++
	c.held = max(c.held, c.slots.InUse())
	if !c.has("once") && !c.has("upgrade") { // these are left to the base as they are
		require.Empty(t, req.URL.RawQuery, "not that of the attempt before")
		req.URL.RawQuery = "signature"
	}
	require.Equal(t, c.has("body") && !c.has("once"), req.GetBody != nil)

	fail := func(text string) (*http.Response, error) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errors.New(text)
	}
	switch c.outcome {
	case "tunnel":
		httptrace.ContextClientTrace(req.Context()).GetConn("localhost:443")
		return fail("Service Unavailable")
	case "proxy403":
		return fail("Forbidden")
	case "proxy407":
		return fail("Proxy Authentication Required")
	case "grant":
		return fail(`oauth2: "invalid_grant" "the token has expired"`)
	}
	resp, err := base.RoundTrip(req)
	if c.outcome == "hung" && err == nil {
		resp.Body.Close()
		resp.Body = hungBody{}
	}
	return resp, err
}

// A hungBody is a response's body that nothing ends, for long.
type hungBody struct{}

func (hungBody) Close() error { return nil }
func (hungBody) Read([]byte) (int, error) {
	time.Sleep(time.Hour)
	return 0, io.EOF
}

// request returns the request of the row.
func (c *cell) request(t *testing.T) *http.Request {
	method, _, _ := strings.Cut(c.row, ",")
	req := newRequest(t, method, "http://localhost", "")
	if c.has("body") {
		c.setBody(req)
	}
	if c.has("once") {
		req.GetBody = nil
	}
	if c.has("upgrade") {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
	}
	switch {
	case c.has("key"):
		req.Header.Set("Idempotency-Key", "1")
	case c.has("x-key"):
		req.Header.Set("X-Idempotency-Key", "1")
	case c.has("mark"):
		req.Header["Idempotency-Key"] = nil
	case c.has("empty"):
		req.Header.Set("Idempotency-Key", "")
	}

	switch c.outcome {
	case "header":
		req.Header.Set("Authorization", "Bearer secret\n")
	case "scheme":
		req.URL.Scheme = "ftp"
	}
	return req
}

// setBody gives req a body, which counts as open until it is closed.
func (c *cell) setBody(req *http.Request) {
	req.ContentLength = int64(len("body"))
	req.GetBody = func() (io.ReadCloser, error) {
		reader := strings.NewReader("body")
		c.open.Add(1)
		return &tableBody{cell: c, Reader: reader}, nil
	}
	req.Body, _ = req.GetBody()
}

type tableBody struct {
	*strings.Reader
	cell   *cell
	closed atomic.Bool
}

func (b *tableBody) Read(p []byte) (int, error) {
	switch b.cell.outcome {
	case "dialing":
		return 0, errDial
	case "long":
		time.Sleep(20 * time.Second)
	}
	return b.Reader.Read(p[:min(1, len(p))])
}

func (b *tableBody) Close() error {
	if !b.closed.Swap(true) {
		b.cell.open.Add(-1)
	}
	return nil
}

// answer is the server's handler.
func (c *cell) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && c.has("body") && string(body) != "body" {
		panic("another body: " + string(body)) // which cuts the connection
	}
	switch c.outcome {
	case "after":
		panic(http.ErrAbortHandler)
	case "slow":
		select {
		case <-time.After(time.Minute):
		case <-r.Context().Done():
		}
	case "hung":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "409true":
		w.Header().Set("X-Should-Retry", "true")
		w.WriteHeader(http.StatusConflict)
	default:
		if status, err := strconv.Atoi(c.outcome); err == nil {
			w.WriteHeader(status)
		}
	}
}
