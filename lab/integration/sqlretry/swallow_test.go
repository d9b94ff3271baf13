//go:build unix

package sqlretry_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

var strict = flag.Bool("strict", false, "TestServers requires the times that it logs for a proxy that swallows")

// A proxy forwards connections to a server until a client's packet has a word. From then on it swallows everything,
// in both directions and on new connections too, until it lets go. Or it holds back what one client sends, from the
// packet with the word on. Or it ends one connection instead of the answer to a word.
type proxy struct {
	listener        net.Listener
	network, target string

	mu         sync.Mutex
	word       []byte        // empty means none
	cutWord    []byte        // the same
	holdWord   []byte        // the same
	holding    chan struct{} // closed when it lets go
	swallowing chan struct{} // the same; nil while it forwards
	conns      map[net.Conn]bool
}

func newProxy(t *testing.T, network, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, network: network, target: target, conns: map[net.Conn]bool{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// open returns how many connections there are, of both sides.
func (p *proxy) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// swallow makes p swallow from the next packet on that has the word.
func (p *proxy) swallow(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word = []byte(word)
}

// hold makes p hold back what one client sends, from its next packet on that has the word, until the returned function is
// called. Other connections are forwarded meanwhile.
func (p *proxy) hold(word string) (deliver func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	holding := make(chan struct{})
	p.holdWord = []byte(word)
	p.holding = holding
	return sync.OnceFunc(func() { close(holding) })
}

// cut makes p end the connection of the next packet that has the word, once the server has answered.
func (p *proxy) cut(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutWord = []byte(word)
}

// cuts reports whether a client's packet has the word to cut.
func (p *proxy) cuts(packet []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := has(packet, p.cutWord)
	if found {
		p.cutWord = nil
	}
	return found
}

// has reports whether a packet has a word, which is in lower case. It never has an empty one.
func has(packet, word []byte) bool {
	return len(word) > 0 && bytes.Contains(bytes.ToLower(packet), word)
}

// release ends the swallowing. What was swallowed is delivered, or the connections are closed.
func (p *proxy) release(deliver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !deliver {
		for conn := range p.conns {
			conn.Close()
		}
	}
	if p.swallowing != nil {
		close(p.swallowing)
	}
	p.swallowing = nil
	p.word = nil
}

// pass waits while p swallows. It looks for the word in a client's packet.
func (p *proxy) pass(packet []byte, fromClient bool) {
	p.mu.Lock()
	if fromClient && p.swallowing == nil && has(packet, p.word) {
		p.swallowing = make(chan struct{})
	}
	waits := p.swallowing
	if fromClient && has(packet, p.holdWord) {
		p.holdWord = nil
		waits = p.holding
	}
	p.mu.Unlock()
	if waits != nil {
		<-waits
	}
}

func (p *proxy) serve(client net.Conn) {
	defer p.close(client)
	p.add(client)
	server, err := net.Dial(p.network, p.target)
	if err != nil {
		return
	}
	defer p.close(server)
	p.add(server)

	var both sync.WaitGroup
	var cut atomic.Bool // instead of the next answer
	both.Go(func() { p.copy(server, client, true, &cut) })
	both.Go(func() { p.copy(client, server, false, &cut) })
	both.Wait()
}

func (p *proxy) add(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = true
}

func (p *proxy) close(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
	conn.Close()
}

// copy copies until one side has ended, and ends the other.
func (p *proxy) copy(to io.WriteCloser, from io.Reader, fromClient bool, cut *atomic.Bool) {
	defer to.Close()
	packet := make([]byte, 64<<10)
	for {
		n, err := from.Read(packet)
		p.pass(packet[:n], fromClient)
		if fromClient && p.cuts(packet[:n]) {
			cut.Store(true)
		} else if !fromClient && cut.Load() {
			return
		}
		if _, writeErr := to.Write(packet[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// testSwallows has a proxy swallow the packets of each step. Do returns when the attempt's time ends, and in a COMMIT when
// its context does. When the proxy lets go, nothing is left. With -v it prints how long both took, and -strict requires
// 100 ms and a second.
func testSwallows(t *testing.T, s server) {
	for _, step := range []string{"BEGIN", "statement", "COMMIT", "ROLLBACK"} {
		for _, deliver := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, delivered late: %t", step, deliver), func(t *testing.T) { testSwallow(t, s, step, deliver) })
		}
	}
}

func testSwallow(t *testing.T, s server, step string, deliver bool) {
	const timeout, deadline = 300 * time.Millisecond, 900 * time.Millisecond
	due := timeout
	if step == "COMMIT" {
		due = deadline
	}
	words := map[string]string{"BEGIN": s.begin, "statement": "update", "COMMIT": "commit", "ROLLBACK": "rollback"}
	admin := s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS t", "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (0)")
	before, err := s.connections(t.Context(), admin)
	require.NoError(t, err)
	p := newProxy(t, s.network, s.target)
	goroutines := runtime.NumGoroutine()
	db := s.via(t, p.address())
	require.NoError(t, db.Ping())

	p.swallow(words[step])
	slots := backoff.NewSlots(1)
	o := sqlretry.Options{AttemptTimeout: timeout, MaxRetries: -1, Slots: slots}
	if step == "statement" && !s.heeds {
		time.AfterFunc(2*time.Second, func() { p.release(deliver) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	begun := time.Now()
	err = sqlretry.Do(ctx, db, o, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE t SET n = n + 1")
		if step == "ROLLBACK" {
			return errors.Join(errRefused, err)
		}
		return err
	})
	returned := time.Since(begun)
	require.Error(t, err)
	require.Equal(t, step == "COMMIT", errors.Is(err, sqlretry.ErrOutcomeUnknown), "%v", err)
	require.Equal(t, step == "ROLLBACK", errors.Is(err, errRefused), "%v", err)
	require.Zero(t, slots.InUse())

	let := time.Now()
	p.release(deliver)
	eventually(t, func() bool { return db.Stats().InUse == 0 })
	require.NoError(t, db.Close())
	eventually(t, func() bool { return p.open() == 0 && runtime.NumGoroutine() <= goroutines })
	gone := time.Since(let)
	eventually(t, func() bool {
		now, err := s.connections(t.Context(), admin)
		return err == nil && len(now) <= len(before)
	})

	var n int
	require.NoError(t, admin.QueryRow("SELECT n FROM t").Scan(&n))
	t.Logf("%s | %s | back after %d ms of %d | nothing left %d ms after the proxy let go | %d committed | %.90v",
		s.name(), step, returned.Milliseconds(), due.Milliseconds(), gone.Milliseconds(), n, err)
	if step != "COMMIT" {
		require.Zero(t, n)
	}
	if *strict && (step != "statement" || s.heeds) {
		require.GreaterOrEqual(t, returned, due)
		require.Less(t, returned, due+100*time.Millisecond)
		require.Less(t, gone, time.Second)
	}
}

var errRefused = errors.New("not enough money")

// eventually waits until a condition holds. Unlike require.Eventually it starts no goroutine, which would count.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.NoError(t, backoff.Retry(func() error {
		if !holds() {
			return errors.New("it does not hold")
		}
		return nil
	}, backoff.WithMaxRetries(backoff.NewConstantBackOff(5*time.Millisecond), 4000)))
}
