//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// lanes is how many rows are measured side by side. Each begins a second after the one before, so that not all servers
// come back at once.
const lanes = 12

// measure measures with real servers, and writes the table.
func (c config) measure(out, stderr io.Writer, plans []plan) error {
	var begun atomic.Int64
	rows, err := c.run(plans, lanes, func(how way, p plan) (history, error) {
		time.Sleep(time.Second * time.Duration(begun.Add(1)%lanes))
		return measureOne(how, p, stderr)
	})
	if err != nil {
		return err
	}

	c.write(out, rows)
	late := time.Duration(0)
	for _, one := range slices.Concat(rows...) {
		for _, h := range one.histories {
			late = max(late, h.late)
		}
	}
	_, err = fmt.Fprintf(out, "\nNo call began more than %v late.\n", late.Round(time.Millisecond))
	return err
}

// measureOne goes through a plan with real servers.
func measureOne(how way, p plan, stderr io.Writer) (history, error) {
	r := &remote{clients: map[*process]*http.Client{}, stderr: stderr}
	n := max(1, p.service.backends)
	for range n {
		server, err := startServer(max(1, p.servers/n), stderr)
		if err != nil {
			return history{}, err
		}
		defer func() {
			_ = server.Process.Kill()
			_ = server.Wait()
		}()
		r.servers = append(r.servers, server)
	}

	r.world = newWorld(how, p)
	r.world.serve = r.send
	r.disturb()
	r.world.run()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, client := range r.clients {
		client.CloseIdleConnections()
	}
	return r.world.history, r.err
}

// remote is the servers of a world, and how its processes reach them.
type remote struct {
	world   *world
	servers []*child
	stderr  io.Writer

	mu      sync.Mutex // guards what follows
	clients map[*process]*http.Client
	err     error
}

// disturb has the servers get into trouble, and out of it.
func (r *remote) disturb() {
	at := func(t float64, what string, do func() error) {
		time.AfterFunc(seconds(t), func() {
			err := do()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.err = errors.Join(r.err, err)
			fmt.Fprintf(r.stderr, "%s, %s, seed %d: %s\n", r.world.name, r.world.way.title, r.world.seed, what)
		})
	}
	for _, d := range r.world.dips {
		for i, server := range r.servers {
			switch {
			case d.backend != allBackends && d.backend != i:
			case d.left == 0:
				at(d.begin, "the server is stopped", server.stop)
				at(d.end, "it goes on", server.goOn)
			default:
				at(d.begin, "it is slow", func() error { return server.tell(slows, 1/d.left) })
				at(d.end, "it is well", func() error { return server.tell(slows, 1) })
			}
		}
	}
	for _, e := range r.world.effects {
		for _, server := range r.servers {
			at(r.world.from, "requests fail", func() error { return server.tell(e.kind, e.amount) })
			if !e.lasts {
				at(r.world.back(), "no request fails", func() error { return server.tell(e.kind, 0) })
			}
		}
	}
}

// send sends a request of a call.
func (r *remote) send(ctx context.Context, c *call) error {
	server := r.servers[c.random.IntN(len(r.servers))]
	work := seconds(r.world.work(c.random))
	body := bytes.NewReader(make([]byte, 1000))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/?work=%v", server.address, work), body)
	if err != nil {
		return err
	}
	resp, err := r.client(c.process).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errFailed
	}
	return err
}

// client returns the client of a process, which has connections of its own.
func (r *remote) client(p *process) *http.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients[p] == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 100
		transport.Proxy = nil
		r.clients[p] = &http.Client{Transport: transport}
	}
	return r.clients[p]
}

// child is the process of a server. It ends when its input does.
type child struct {
	*exec.Cmd
	in      io.WriteCloser
	address string // that it listens on
}

// startServer starts a server, and returns it once it listens. If this process ends first, the system hangs up on a
// child that is stopped: it is in a group of its own, so that the keyboard's signals do not reach it.
func startServer(places int, stderr io.Writer) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, serve, strconv.Itoa(places))
	command.Stderr = stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err1 := command.StdinPipe()
	out, err2 := command.StdoutPipe()
	if err := errors.Join(err1, err2, command.Start()); err != nil {
		return nil, err
	}

	server := &child{Cmd: command, in: in}
	_, err = fmt.Fscanln(out, &server.address)
	return server, err
}

// stop returns once the child is stopped: if this process ended before, the system would not hang up on it, and it
// would be left.
func (c *child) stop() error {
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if err == nil && !status.Stopped() {
		return errors.New("the server has ended")
	}
	return err
}

func (c *child) goOn() error { return c.Process.Signal(syscall.SIGCONT) }

// tell tells a server which trouble it has, and how much of it.
func (c *child) tell(kind string, amount float64) error {
	_, err := fmt.Fprintln(c.in, kind, amount)
	return err
}

// server works on so many requests at once, for as long as each says. The oldest that waits gets the next place, whether
// or not its client has left.
type server struct {
	places chan struct{}
	told   sync.Map // how much it has of each kind of trouble
}

// slows is a kind of trouble: all work takes so many times as long. Failing is the other one.
const slows = "slows"

func (s *server) has(kind string, usual float64) float64 {
	if amount, ok := s.told.Load(kind); ok {
		return amount.(float64)
	}
	return usual
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	work, err := time.ParseDuration(r.URL.Query().Get("work"))
	if err != nil {
		http.Error(w, "how long?", http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)

	s.places <- struct{}{}
	time.Sleep(time.Duration(float64(work) * s.has(slows, 1)))
	<-s.places
	if rand.Float64() < s.has(failing, 0) {
		http.Error(w, "failed", http.StatusInternalServerError)
	}
}

// runServer prints its address, and serves until its input ends. Each line of that is a kind of trouble, and how much
// the server has of it from then on.
func runServer(places string, stdout, stderr io.Writer) int {
	n, err := strconv.Atoi(places)
	listener, err2 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	s := &server{places: make(chan struct{}, n)}
	go http.Serve(listener, s)

	fmt.Fprintln(stdout, listener.Addr())
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var kind string
		var amount float64
		_, _ = fmt.Sscan(input.Text(), &kind, &amount)
		s.told.Store(kind, amount)
	}
	return 0
}
