// Package page is what the Go blocks of the pages take for granted. TestPageBlocks compiles each block
// together with it, but without what the block declares itself.
package page

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/backoff"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

// No block uses all of the imports.
var _ = []any{
	context.Background, sql.Open, errors.New, fmt.Errorf, io.ReadAll, slog.Warn, http.Get, os.Exit,
	signal.Notify, syscall.SIGTERM, time.Now, errgroup.Group{}, backoff.Retry, httpretry.Retryable, sqlretry.Do,
}

var ctx context.Context

var db *sql.DB

var err error

var body []byte

var etag string

var id int64

var operation backoff.Operation

var policy backoff.BackOff

var ErrNotFound = errors.New("not found")

var messages <-chan *Message

type Message struct{}

type Order struct{}

type User struct{}

type Server struct{ store orderStore }

type orderStore interface {
	Order(ctx context.Context, id int64) (*Order, error)
}

type userClient interface {
	Get(ctx context.Context, id string) (*User, error)
}

var users userClient

func newPolicy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.NewExponentialBackOff(), ctx)
}

func attempt(ctx context.Context, with ...any) error { return fmt.Errorf("busy: %v", with) }

func fetch(ctx context.Context, url string) ([]byte, string, error) { return nil, "", attempt(ctx) }

func check(ctx context.Context) error { return attempt(ctx) }

func handle(ctx context.Context, msg *Message) error { return attempt(ctx, msg) }

func lookUp(ctx context.Context, id string) error { return attempt(ctx) }

func pay(ctx context.Context, amount int64) error { return attempt(ctx) }

func ping(ctx context.Context, db *sql.DB) error { return attempt(ctx) }

func read(body io.Reader) error { return attempt(ctx, body) }

func save(ctx context.Context, with ...any) error { return attempt(ctx) }

func send(ctx context.Context, client *http.Client) error { return attempt(ctx) }

func syncFiles(ctx context.Context) error { return attempt(ctx) }
