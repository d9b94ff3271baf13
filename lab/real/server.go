//go:build unix

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	workers  = 8
	meanWork = 100 * time.Millisecond
	capacity = float64(workers) * float64(time.Second) / float64(meanWork) // requests per second
	longest  = 200 * time.Millisecond                                      // wait for a connection, in some rows
)

// server is a row of the table.
type server struct {
	title  string
	open   func(folder string) (worker, error)
	unread bool          // the handler does not read the body
	wait   time.Duration // the longest wait for a connection; zero means as long as the client waits
}

// worker does the work of one request. It waits for its turn until turn ends, and gives the work up
// when ctx ends.
type worker func(ctx, turn context.Context, work time.Duration) error

var serverNames = []string{"fifo", "sql", "pgxpool", "unread", "sql-200ms", "pgxpool-200ms", "unread-200ms"}

var servers = map[string]server{
	"fifo":          {"queue that ignores cancellation", openQueue, false, 0},
	"sql":           {"database/sql, `r.Context()`", openSQL, false, 0},
	"pgxpool":       {"pgxpool, `r.Context()`", openPgxpool, false, 0},
	"unread":        {"database/sql, body unread", openSQL, true, 0},
	"sql-200ms":     {"database/sql, waits at most 200 ms", openSQL, false, longest},
	"pgxpool-200ms": {"pgxpool, waits at most 200 ms", openPgxpool, false, longest},
	"unread-200ms":  {"database/sql, body unread, waits at most 200 ms", openSQL, true, longest},
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
	return func(_, _ context.Context, work time.Duration) error {
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
	return func(ctx, turn context.Context, work time.Duration) error {
		conn, err := db.Conn(turn)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.ExecContext(ctx, "SELECT pg_sleep($1)", work.Seconds())
		return err
	}, nil
}

func openPgxpool(folder string) (worker, error) {
	pool, err := pgxpool.New(context.Background(), fmt.Sprintf("%s pool_max_conns=%d", dataSource(folder), workers))
	if err != nil {
		return nil, err
	}
	return func(ctx, turn context.Context, work time.Duration) error {
		conn, err := pool.Acquire(turn)
		if err != nil {
			return err
		}
		defer conn.Release()
		_, err = conn.Exec(ctx, "SELECT pg_sleep($1)", work.Seconds())
		return err
	}, nil
}

// handler serves the requests of a cell. Each says how long its work takes.
type handler struct {
	server
	worker
	requests, answered atomic.Int64
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	work, err := time.ParseDuration(r.URL.Query().Get("work"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !h.unread {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
	}

	turn := r.Context()
	if h.wait > 0 {
		var cancel context.CancelFunc
		turn, cancel = context.WithTimeout(turn, h.wait)
		defer cancel()
	}
	if err := h.worker(r.Context(), turn, work); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	h.answered.Add(1)
}

// serve is the argument that makes this program a server.
const serve = "serve"

// runServer prints its address, serves until its input ends, and prints what it has counted.
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
	h := &handler{server: servers[name], worker: work}
	go http.Serve(listener, h)

	out := json.NewEncoder(stdout)
	err1 := out.Encode(listener.Addr().String())
	_, err2 := io.Copy(io.Discard, os.Stdin)
	answered := h.answered.Load() // before the requests, some of which may still be answered
	err3 := out.Encode(map[string]int64{"answered": answered, "requests": h.requests.Load()})
	if errors.Join(err1, err2, err3) != nil {
		return 1
	}
	return 0
}
