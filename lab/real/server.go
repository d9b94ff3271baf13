//go:build unix

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
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
	name, title string
	unread      bool          // the handler does not read the body
	wait        time.Duration // the longest wait for a connection; zero means as long as the client waits
	open        func(cell) (worker, error)
}

func (s server) label() string { return s.name }

// worker does the work of one request. It waits for its turn until turn ends, and gives the work up
// when ctx ends.
type worker func(ctx, turn context.Context, work time.Duration) error

const (
	longest   = 200 * time.Millisecond
	sleepText = "SELECT pg_sleep($1)"
)

var servers = []server{
	{name: "fifo", title: "queue that ignores cancellation", open: openQueue},
	{name: "sql", title: "database/sql, `r.Context()`", open: openSQL},
	{name: "pgxpool", title: "pgxpool, `r.Context()`", open: openPgxpool},
	{name: "unread", title: "database/sql, body unread", unread: true, open: openSQL},
	{name: "sql-200ms", title: "database/sql, waits at most 200 ms", wait: longest, open: openSQL},
	{name: "pgxpool-200ms", title: "pgxpool, waits at most 200 ms", wait: longest, open: openPgxpool},
	{name: "unread-200ms", title: "database/sql, body unread, waits at most 200 ms", unread: true, wait: longest, open: openSQL},
}

func (s server) needsPostgres() bool { return s.name != "fifo" }

// openQueue returns workers that take requests from one queue in order, whether or not their clients still wait.
func openQueue(cell) (worker, error) {
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

func openSQL(c cell) (worker, error) {
	db, err := sql.Open("pgx", dataSource(c.Database))
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
		_, err = conn.ExecContext(ctx, sleepText, work.Seconds())
		return err
	}, nil
}

func openPgxpool(c cell) (worker, error) {
	pool, err := pgxpool.New(context.Background(), fmt.Sprintf("%s pool_max_conns=%d", dataSource(c.Database), workers))
	if err != nil {
		return nil, err
	}
	return func(ctx, turn context.Context, work time.Duration) error {
		conn, err := pool.Acquire(turn)
		if err != nil {
			return err
		}
		defer conn.Release()
		_, err = conn.Exec(ctx, sleepText, work.Seconds())
		return err
	}, nil
}

// serverReport is what the server prints in the end.
type serverReport struct {
	Requests int64 // that reached the handler
	Answered int64 // that were worked on to their end
}

// handler serves the requests of a cell. Each says how long its work takes.
type handler struct {
	server
	worker
	slow     atomic.Bool // all work takes twice as long
	requests atomic.Int64
	answered atomic.Int64
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

	if h.slow.Load() {
		work *= 2
	}
	turn, cancel := r.Context(), context.CancelFunc(func() {})
	if h.wait > 0 {
		turn, cancel = context.WithTimeout(turn, h.wait)
	}
	defer cancel()
	if err := h.worker(r.Context(), turn, work); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	h.answered.Add(1)
}

// runServer prints its address, serves until it is interrupted, and prints a serverReport.
func runServer(c cell) error {
	exitWithParent()
	over := make(chan os.Signal, 1)
	signal.Notify(over, os.Interrupt)
	speed := make(chan os.Signal, 1)
	signal.Notify(speed, passedOn["half"], passedOn["whole"])

	row := *find(servers, c.Server)
	work, err := row.open(c)
	if err != nil {
		return err
	}
	h := &handler{server: row, worker: work}
	go func() {
		for s := range speed {
			h.slow.Store(s == passedOn["half"])
		}
	}()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(listener, h)
	fmt.Println(listener.Addr())
	<-over
	return json.NewEncoder(os.Stdout).Encode(serverReport{h.requests.Load(), h.answered.Load()})
}

// guardServer runs the server of a cell.
func guardServer(c cell) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return err
	}
	command := exec.Command(program, "server", string(encoded))
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	return guard(command)
}
