//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	workers  = 8
	meanWork = 100 * time.Millisecond
	capacity = float64(workers) * float64(time.Second) / float64(meanWork) // requests per second
)

// server is a row of the table.
type server struct {
	title string
	open  func(folder string) (worker, error)
}

// worker does the work of one request. It gives it up when ctx ends.
type worker func(ctx context.Context, work time.Duration) error

var serverNames = []string{"fifo", "sql", "pgxpool"}

var servers = map[string]server{
	"fifo":    {"a queue that ignores cancellation", openQueue},
	"sql":     {"database/sql, with `r.Context()`", openSQL},
	"pgxpool": {"pgxpool, with `r.Context()`", openPgxpool},
}

func needsPostgres(row string) bool { return row != "fifo" }

// openQueue returns workers that take requests from one queue in order, whether or not their clients still wait.
func openQueue(string) (worker, error) {
	type request struct {
		work time.Duration
		done chan struct{}
	}
	queue := make(chan request, 1_000_000)
	for range workers {
		go func() {
			for r := range queue {
				time.Sleep(r.work)
				close(r.done)
			}
		}()
	}
	return func(_ context.Context, work time.Duration) error {
		r := request{work, make(chan struct{})}
		queue <- r
		<-r.done
		return nil
	}, nil
}

func openSQL(folder string) (worker, error) {
	db, err := sql.Open("pgx", dataSource(folder))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(workers)
	db.SetMaxIdleConns(workers)
	return func(ctx context.Context, work time.Duration) error {
		_, err := db.ExecContext(ctx, "SELECT pg_sleep($1)", work.Seconds())
		return err
	}, nil
}

func openPgxpool(folder string) (worker, error) {
	pool, err := pgxpool.New(context.Background(), fmt.Sprintf("%s pool_max_conns=%d", dataSource(folder), workers))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, work time.Duration) error {
		_, err := pool.Exec(ctx, "SELECT pg_sleep($1)", work.Seconds())
		return err
	}, nil
}

// ServeHTTP works on a request, which says how long that takes.
func (do worker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	work, err := time.ParseDuration(r.URL.Query().Get("work"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// Before the body is read, net/http does not notice that a client has left.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if err := do(r.Context(), work); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// serve is the argument that makes this program a server.
const serve = "serve"

// runServer prints its address, and serves until its input ends.
func runServer(name, database string, stdout, stderr io.Writer) int {
	work, err := servers[name].open(database)
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
		return 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
		return 1
	}
	go http.Serve(listener, work)

	fmt.Fprintln(stdout, listener.Addr())
	io.Copy(io.Discard, os.Stdin)
	return 0
}
