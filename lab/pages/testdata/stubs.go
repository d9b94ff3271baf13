// Package page is what the code on the pages takes for granted. TestCode compiles each page together with it, but
// without what the page declares itself.
package page

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

// No page uses all of the imports.
var _ = []any{
	bytes.NewReader, cmp.Or[int], context.Background, sql.Open, json.Marshal, errors.New, expvar.NewInt,
	fmt.Errorf, io.ReadAll, slog.Warn, math.MaxInt8, rand.Int, net.Dial, http.Get, httptest.NewServer, url.PathEscape, os.Exit,
	strconv.Itoa, strings.HasPrefix, new(sync.Mutex), new(atomic.Int64), testing.Short, synctest.Test, time.Now,
	require.NoError, new(errgroup.Group), rate.NewLimiter, grpc.NewClient, grpcbackoff.DefaultConfig, credentials.NewTLS,
	backoff.Retry, grpcretry.Retryable, httpretry.Retryable, sqlretry.Do,
}

var ctx context.Context

var db *sql.DB

var err error

var id int64

var paymentsURL, usersURL string

var api backoff.Retrier

var ErrNotFound = errors.New("not found")

var errBad = errors.New("no retry will help")

var errLater = errors.New("another message is handled that may kill the process")

var errKills = errors.New("the process has died five times in a row")

type Message struct {
	Name     string
	Begun    int
	Failures int
}

type Order struct{ ID int64 }

type User struct{ Name string }

type Server struct{ store orderStore }

type orderStore func(ctx context.Context, id int64) (*Order, error)

func (f orderStore) Order(ctx context.Context, id int64) (*Order, error) { return f(ctx, id) }

type Worker struct {
	delivered  atomic.Int64
	suspect    sync.Mutex
	store      func(ctx context.Context, msg *Message) error
	deliver    func(ctx context.Context, msg *Message) error
	deadLetter func(ctx context.Context, msg *Message, err error) error
}

type userClient interface {
	Get(ctx context.Context, id string) (*User, error)
}

var users userClient

var cached func(id string) (*User, error)

var upload func(ctx context.Context, with ...any) error

var lookUp func(ctx context.Context, with ...any) error

var save func(ctx context.Context, with ...any) error

var load func(ctx context.Context) error

var lookForReport func(ctx context.Context) error

// A roundTrip stands for a server.
type roundTrip func(req *http.Request) (*http.Response, error)

func (b roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return b(req) }

// answer returns a response.
func answer(status int, body string) *http.Response {
	text := fmt.Sprint(status, " ", http.StatusText(status))
	return &http.Response{StatusCode: status, Status: text, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// sqlState is an error of a database.
type sqlState string

func (s sqlState) Error() string    { return "SQLSTATE " + string(s) }
func (s sqlState) SQLState() string { return string(s) }

const (
	conflict  sqlState = "40001"
	duplicate sqlState = "23505"
)

// A memory is a database in memory, and its connection and transaction. It hangs until a time, and then refuses
// statements with a value that must be unique and is there. A COMMIT returns an error of commits as long as there are
// any, and takes effect all the same, unless that is a conflict.
type memory struct {
	driver.Conn
	hangs   time.Time
	commits []error
	unique  map[any]bool
	begins  int
	keys    []any // of the transaction
}

func (s *memory) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *memory) Driver() driver.Driver                        { return nil }
func (s *memory) Rollback() error                              { return nil }
func (s *memory) Close() error                                 { return nil }

func (s *memory) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	s.begins++
	s.keys = nil
	select {
	case <-time.After(time.Until(s.hangs)):
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *memory) ExecContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Result, error) {
	if s.unique[args[0].Value] || s.unique[args[len(args)-1].Value] {
		return nil, duplicate
	}
	if args[0].Value == "key" {
		s.keys = append(s.keys, "key")
	}
	return driver.RowsAffected(1), nil
}

func (s *memory) Commit() (err error) {
	if len(s.commits) > 0 {
		err, s.commits = s.commits[0], s.commits[1:]
	}
	if err != conflict {
		for _, key := range s.keys {
			s.unique[key] = true
		}
	}
	return err
}
