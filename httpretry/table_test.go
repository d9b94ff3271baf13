//go:build go1.25

package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// sent says for each request how often it is sent if all its attempts end in the same way, with at most
// three retries, and how many tokens it takes from the budget. A retry takes five. A success at the first
// attempt puts one in.
//
// The columns are a status; a connection that is refused; one that is cut before the request is read, and
// one that is cut after it; a server that answers only after AttemptTimeout; an invalid value in the
// request's header; and a URL with an unknown scheme.
const sent = `
request               429   500   502   503   504   520   529   501   refused  before  after  slow  header  scheme
GET                   4/15  4/15  4/15  4/15  4/15  4/15  4/15  1/-1  4/15     4/15    4/15   4/15  1/0     1/0
GET,upgrade           1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0      1/0     1/0    1/0   1/0     1/0
PUT,body              4/15  4/15  4/15  4/15  4/15  4/15  4/15  1/-1  4/15     4/15    4/15   4/15  1/0     1/0
PUT,body,once         1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0      1/0     1/0    1/0   1/0     1/0
POST                  4/15  1/0   1/0   1/0   1/0   1/0   1/0   1/-1  4/15     1/0     1/0    1/-1  1/0     1/0
POST,body             4/15  1/0   1/0   1/0   1/0   1/0   1/0   1/-1  4/15     1/0     1/0    1/-1  1/0     1/0
POST,body,once        1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0      1/0     1/0    1/0   1/0     1/0
POST,body,upgrade     1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0      1/0     1/0    1/0   1/0     1/0
POST,body,key         4/15  4/15  4/15  4/15  4/15  4/15  4/15  1/-1  4/15     4/15    4/15   4/15  1/0     1/0
POST,body,x-key       4/15  4/15  4/15  4/15  4/15  4/15  4/15  1/-1  4/15     4/15    4/15   4/15  1/0     1/0
POST,body,mark        4/15  4/15  4/15  4/15  4/15  4/15  4/15  1/-1  4/15     4/15    4/15   4/15  1/0     1/0
POST,body,mark,once   1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0   1/0      1/0     1/0    1/0   1/0     1/0
PATCH,body            4/15  1/0   1/0   1/0   1/0   1/0   1/0   1/-1  4/15     1/0     1/0    1/-1  1/0     1/0
`

func TestSent(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(sent), "\n")
	outcomes := strings.Fields(lines[0])[1:]

	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		require.Len(t, cells, len(outcomes)+1, line)
		for i, want := range cells[1:] {
			for _, major := range []int{1, 2} {
				name := fmt.Sprint(cells[0], "/", outcomes[i], "/HTTP ", major)
				t.Run(name, func(t *testing.T) {
					require.Equal(t, want, sendInTable(t, major, cells[0], outcomes[i]))
				})
			}
		}
	}
}

// sendInTable sends the request of a row until it has the outcome of a column, and returns their cell.
func sendInTable(t *testing.T, major int, row, outcome string) (cell string) {
	budget := &backoff.Budget{Capacity: 100}
	require.True(t, budget.Withdraw(), "so that there is room for a success")
	before := budget.Tokens()
	transport := &httpretry.Transport{Policy: threeRetries, Budget: budget}

	bubbleOver(t, major, transport, handlerInTable(outcome), func(t *testing.T, client *http.Client) {
		base := transport.Base.(*http.Transport)
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if outcome == "refused" {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			conn, err := dial(ctx, network, address)
			if outcome == "before" {
				conn.Close()
			}
			return conn, err
		}
		attempts := 0
		transport.Base = baseFunc(func(req *http.Request) (*http.Response, error) {
			attempts++
			return base.RoundTrip(req)
		})

		resp, err := transport.RoundTrip(requestInTable(t, row, outcome))
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		cell = fmt.Sprint(attempts, "/", before-budget.Tokens())
		base.CloseIdleConnections()
	})
	return cell
}

func requestInTable(t *testing.T, row, outcome string) *http.Request {
	method, kinds, _ := strings.Cut(row, ",")
	has := func(kind string) bool { return strings.Contains(","+kinds+",", ","+kind+",") }

	body := ""
	if has("body") {
		body = "body"
	}
	req := newRequest(t, method, "http://localhost", body)
	if has("once") {
		req.GetBody = nil
	}
	if has("upgrade") {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
	}
	if has("key") {
		req.Header.Set("Idempotency-Key", "1")
	}
	if has("x-key") {
		req.Header.Set("X-Idempotency-Key", "1")
	}
	if has("mark") {
		req.Header["Idempotency-Key"] = nil
	}

	switch outcome {
	case "header":
		req.Header.Set("Authorization", "Bearer secret\n")
	case "scheme":
		req.URL.Scheme = "ftp"
	}
	return req
}

func handlerInTable(outcome string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch outcome {
		case "after":
			panic(http.ErrAbortHandler)
		case "slow":
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		default:
			if status, err := strconv.Atoi(outcome); err == nil {
				w.WriteHeader(status)
			}
		}
	}
}
