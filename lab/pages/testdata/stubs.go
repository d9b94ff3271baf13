// Package page is what the code on the pages takes for granted. TestCode compiles each page together with it, but
// without what the page declares itself.
package page

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

// No page uses all of the imports.
var _ = []any{
	bufio.NewScanner, bytes.NewReader, cmp.Or[int], context.Background, sha256.New, sql.Open, hex.EncodeToString, json.Marshal,
	errors.New, expvar.NewInt, fmt.Errorf, io.ReadAll, slog.Warn, math.MaxInt8, rand.Int, http.Get, httptest.NewServer, url.PathEscape,
	os.Exit, signal.Notify, strings.HasPrefix, new(sync.Mutex), new(atomic.Int64), syscall.SIGTERM, testing.Short,
	synctest.Test, time.Now, require.NoError, new(errgroup.Group), new(singleflight.Group),
	backoff.Retry, grpcretry.Retryable, httpretry.Retryable, sqlretry.Do,
}

var ctx context.Context

var db *sql.DB

var err error

var id int64

var messages chan *Message

func handle(*Message) {}

var modelURL, paymentsURL, usersURL string

var api backoff.Retrier

var ErrNotFound = errors.New("not found")

var errBad = errors.New("no retry will help")

var errDisconnected = errors.New("disconnected")

type Message struct{ Name string }

type Order struct{ ID int64 }

type User struct{ Name string }

type Conn struct{}

type Server struct{ store orderStore }

type orderStore func(ctx context.Context, id int64) (*Order, error)

func (f orderStore) Order(ctx context.Context, id int64) (*Order, error) { return f(ctx, id) }

type Worker struct {
	deliver    func(ctx context.Context, msg *Message) error
	deadLetter func(ctx context.Context, msg *Message, err error) error
	pause      func(ctx context.Context) error
}

type Webhook struct {
	ID       string
	URL      string
	Body     []byte
	Failures int
}

type Queue interface {
	Next(ctx context.Context) (*Webhook, error)
	Done(hook *Webhook) error
	PutOff(hook *Webhook, wait time.Duration) error
	GiveUp(hook *Webhook, err error) error
}

type userClient interface {
	Get(ctx context.Context, id string) (*User, error)
}

var users userClient

var accounts userClient

var upload func(ctx context.Context, with ...any) error

var lookUp func(ctx context.Context, with ...any) error

var save func(ctx context.Context, with ...any) error

var connect func(ctx context.Context) (*Conn, error)

var listen func(ctx context.Context, conn *Conn) error

var newToken func(ctx context.Context) (string, error)

func newPolicy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3), ctx)
}
