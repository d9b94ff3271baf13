package page

import (
	"cmp"
	"context"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var errDown = errors.New("down")

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// under puts a server below a page's client.
func under(client *http.Client, b roundTrip) { client.Transport.(*httpretry.Transport).Base = b }

// later returns a 503 that asks for a wait.
func later(wait time.Duration) *http.Response {
	resp := answer(503, "")
	resp.Header.Set("Retry-After", fmt.Sprint(int(wait.Seconds())))
	return resp
}

// An order that does not exist is looked for once. Other failures are retried, until the deadline.
func TestHandler(t *testing.T) {
	hang := errors.New("hang")
	for err, want := range map[error]int{sql.ErrNoRows: 1, errDown: 4, hang: 4} {
		synctest.Test(t, func(t *testing.T) {
			orders.Slots = new(backoff.Slots)
			calls := 0
			server := Server{store: func(ctx context.Context, _ int64) (*Order, error) {
				calls++
				if err == hang {
					<-ctx.Done()
				}
				return nil, err
			}}
			_, got := server.order(t.Context(), 1)
			require.ErrorIs(t, got, err)
			require.LessOrEqual(t, calls, want)
			require.Equal(t, err == sql.ErrNoRows, calls == 1)
			require.Equal(t, err == hang, errors.Is(got, context.DeadlineExceeded))
		})
	}
}

// With a deadline of two seconds, and a third of it for each attempt, a call that is refused is tried again three times, and
// one that hangs once or twice.
func TestShortDeadline(t *testing.T) {
	for _, test := range []struct {
		hangs   bool
		fewest  int
		average float64
	}{
		{false, 3, 3.9},
		{true, 2, 2.1},
	} {
		calls := 0
		const tries = 1000
		for range tries {
			synctest.Test(t, func(t *testing.T) {
				short := backoff.Retrier{AttemptTimeout: 600 * time.Millisecond}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				before := calls
				require.Error(t, short.Do(ctx, func(ctx context.Context) error {
					calls++
					if test.hangs {
						<-ctx.Done()
					}
					return errDown
				}))
				require.GreaterOrEqual(t, calls-before, test.fewest)
			})
		}
		require.GreaterOrEqual(t, float64(calls)/tries, test.average)
	}
}

// The copy is asked for if the service fails or hangs, but not if there is no such user, nor if the caller has left.
func TestFallback(t *testing.T) {
	copied := &User{Name: "copy"}
	cached = func(string) (*User, error) { return copied, nil }
	for name, test := range map[string]struct {
		get  getUser
		want *User
		err  error
	}{
		"answers":    {func(context.Context) (*User, error) { return new(User), nil }, new(User), nil},
		"is down":    {func(context.Context) (*User, error) { return nil, errDown }, copied, nil},
		"hangs":      {func(ctx context.Context) (*User, error) { <-ctx.Done(); return nil, ctx.Err() }, copied, nil},
		"has no one": {func(context.Context) (*User, error) { return nil, backoff.Permanent(ErrNotFound) }, nil, ErrNotFound},
	} {
		synctest.Test(t, func(t *testing.T) {
			users = test.get
			api = backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)}
			start := time.Now()
			user, err := profile(t.Context(), "1")
			require.Equal(t, test.want, user, name)
			require.Equal(t, test.err, err, name)
			require.LessOrEqual(t, time.Since(start), 3*time.Second, name)

			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errDown)
			_, err = profile(ctx, "1")
			require.ErrorIs(t, err, context.Canceled, name)
		})
	}
}

// getUser is a userClient.
type getUser func(ctx context.Context) (*User, error)

func (f getUser) Get(ctx context.Context, _ string) (*User, error) { return f(ctx) }

// A message that fails is put back, after a pause if nobody gets through. One that is bad, or fails five times while others
// get through, is set aside.
func TestConsumer(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		others bool // get through
		tries  int
		aside  int // after so many failures
		took   time.Duration
	}{
		"good":         {nil, false, 1, 0, 0},
		"bad":          {backoff.Permanent(fmt.Errorf("%w: no address", errBad)), false, 1, 1, 0},
		"down":         {errDown, false, 4, 0, 31 * time.Second},
		"7 s":          {backoff.RetryAfter(errDown, 7*time.Second), false, 4, 0, 53 * time.Second},
		"9 min":        {backoff.RetryAfter(errDown, 9*time.Minute), false, 2, 0, 9*time.Minute + 31*time.Second},
		"20 min":       {backoff.RetryAfter(errDown, 20*time.Minute), false, 1, 0, 31 * time.Second},
		"always fails": {errDown, true, 4, 5, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			deliveries.Slots = new(backoff.Slots)
			tries, aside := 0, 0
			worker := &Worker{store: stored, deadLetter: func(context.Context, *Message, error) error { aside++; return nil }}
			worker.deliver = func(context.Context, *Message) error {
				tries++
				if test.others {
					worker.delivered.Add(1)
				}
				return test.err
			}
			msg := new(Message)
			rounds := cmp.Or(test.aside, 10) // however often it is tried
			for range rounds {
				require.Zero(t, aside, name)
				tries = 0
				start := time.Now()
				err := worker.handle(t.Context(), msg)
				require.Equal(t, err == nil, test.err == nil || aside == 1, name)
				if err != nil {
					require.ErrorIs(t, err, test.err, name)
				}
				require.Equal(t, test.tries, tries, name)
				require.Zero(t, msg.Begun, name)
				require.InDelta(t, test.took, time.Since(start), float64(min(test.took, 32*time.Second))+1, name)
			}
			require.Equal(t, test.aside > 0, aside == 1, name)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			worker.store = func(ctx context.Context, msg *Message) error { return ctx.Err() }
			require.ErrorIs(t, worker.handle(ctx, msg), context.Canceled)
		})
	}
}

// stored is a table that holds the message itself.
func stored(context.Context, *Message) error { return nil }

// A message of which the process dies is set aside after five deaths. One during which the program is stopped is not,
// however often that is.
func TestConsumerDeath(t *testing.T) {
	for name, deliver := range map[string]func(ctx context.Context) error{
		"dies":  func(context.Context) error { panic("out of memory") },
		"stops": func(ctx context.Context) error { return ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, deaths, aside := 0, 0, 0
			process := func() { // its message is what the table says of it
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				worker := &Worker{
					store: func(ctx context.Context, msg *Message) error {
						if ctx.Err() == nil {
							begun = msg.Begun
						}
						return ctx.Err()
					},
					deliver: func(ctx context.Context, _ *Message) error {
						stop()
						deaths++
						return deliver(ctx)
					},
					deadLetter: func(_ context.Context, _ *Message, err error) error {
						aside++
						require.Equal(t, errKills, err)
						return nil
					},
				}
				defer func() { _ = recover() }()
				_ = worker.handle(ctx, &Message{Begun: begun})
			}
			for aside == 0 && deaths < 20 {
				process()
			}
			require.Equal(t, name == "dies", aside == 1, name)
			require.Equal(t, name == "dies", deaths == 5, name)
		})
	}
}

// One of a thousand messages kills the process within 50 ms, and with it what the other 49 workers do. The messages in hand
// come back at once, or after their visibility timeout. The killer is set aside after five deaths, and no other message.
func TestConsumerKiller(t *testing.T) {
	for _, timeout := range []time.Duration{0, 17 * time.Minute} {
		synctest.Test(t, func(t *testing.T) { testConsumerKiller(t, timeout) })
	}
}

func testConsumerKiller(t *testing.T, timeout time.Duration) {
	const messages, killer = 1000, "100"
	deliveries.Slots = new(backoff.Slots)
	queue := make(chan string, messages)
	var mu sync.Mutex
	table := map[string]Message{}
	inHand := map[string]bool{}
	delivered := map[string]bool{}
	var aside []string
	for i := range messages {
		name := fmt.Sprint(i)
		table[name] = Message{Name: name}
		queue <- name
	}

	// process returns when it has died, or when no message is left.
	process := func() {
		ctx, die := context.WithCancel(t.Context())
		defer die()
		goOn := func() { // nothing happens in a process that has died
			if ctx.Err() != nil {
				runtime.Goexit()
			}
		}
		worker := &Worker{
			store: func(_ context.Context, msg *Message) error {
				mu.Lock()
				defer mu.Unlock()
				goOn()
				table[msg.Name] = *msg
				return nil
			},
			deliver: func(_ context.Context, msg *Message) error {
				if msg.Name == killer {
					time.Sleep(rand.N(50 * time.Millisecond))
					die()
				}
				time.Sleep(50 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				goOn()
				delivered[msg.Name] = true
				return nil
			},
			deadLetter: func(_ context.Context, msg *Message, err error) error {
				mu.Lock()
				defer mu.Unlock()
				goOn()
				assert.Equal(t, errKills, err)
				aside = append(aside, msg.Name)
				return nil
			},
		}
		work := func(name string) {
			mu.Lock()
			inHand[name] = true
			msg := table[name]
			mu.Unlock()
			err := worker.handle(ctx, &msg)

			mu.Lock()
			defer mu.Unlock()
			goOn()
			delete(inHand, name)
			switch {
			case err == nil:
				delete(table, name)
			case msg.Failures > 0 || msg.Begun > 0:
				time.AfterFunc(rand.N(30*time.Second), func() { queue <- name })
			default:
				queue <- name
			}
			if len(table) == 0 {
				die()
			}
		}
		var workers sync.WaitGroup
		for range 50 {
			workers.Go(func() {
				for ctx.Err() == nil {
					select {
					case name := <-queue:
						work(name)
					case <-ctx.Done():
					}
				}
			})
		}
		workers.Wait()
	}

	start := time.Now()
	processes := 0
	for len(table) > 0 {
		process()
		processes++
		for name := range inHand {
			time.AfterFunc(timeout, func() { queue <- name })
		}
		clear(inHand)
		time.Sleep(time.Second)
	}
	t.Logf("redelivery after %s: %d processes, %d set aside, %s", timeout, processes, len(aside), time.Since(start))
	require.Equal(t, []string{killer}, aside)
	require.Equal(t, 5+1, processes)
	require.Len(t, delivered, messages-1)
}

// A table that cannot be written is not asked in a hot loop, and nothing is sent.
func TestConsumerStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worker := &Worker{store: func(context.Context, *Message) error { return errDown }}
		start := time.Now()
		for range 100 {
			require.Equal(t, errDown, worker.handle(t.Context(), new(Message)))
		}
		require.InDelta(t, 50*time.Minute, time.Since(start), float64(20*time.Minute))
	})
}

// A call that gets no slot does not count for its message, though others get through, and ends in time.
func TestConsumerNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deliveries.Slots = backoff.NewSlots(1)
		end := make(chan struct{})
		slow := deliveries
		slow.AttemptTimeout = -1
		go slow.Do(t.Context(), func(context.Context) error { <-end; return nil })
		synctest.Wait()
		worker := &Worker{store: stored}
		time.AfterFunc(time.Minute, func() { worker.delivered.Add(1) })
		start := time.Now()
		msg := new(Message)
		require.ErrorIs(t, worker.handle(t.Context(), msg), backoff.ErrNoSlot)
		require.Zero(t, msg.Failures)
		require.LessOrEqual(t, time.Since(start), patience)
		close(end)
	})
}

// Fifty workers share a limiter of four messages a second, and the service is healthy. All messages are delivered if
// AttemptTimeout is longer than 50 ÷ 4 s. If it is not, messages are set aside.
func TestConsumerPaced(t *testing.T) {
	defer func(r backoff.Retrier) { deliveries = r }(deliveries)
	for _, timeout := range []time.Duration{10 * time.Second, 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			deliveries.AttemptTimeout = timeout
			deliveries.Slots = new(backoff.Slots)
			limiter := rate.NewLimiter(4, 1)
			var aside atomic.Int64
			worker := &Worker{
				store:      stored,
				deliver:    func(ctx context.Context, _ *Message) error { return limiter.Wait(ctx) },
				deadLetter: func(context.Context, *Message, error) error { aside.Add(1); return nil },
			}
			queue := make(chan *Message, 2000)
			for range 2000 {
				queue <- new(Message)
			}
			var left atomic.Int64
			left.Store(2000)
			var workers sync.WaitGroup
			for range 50 {
				workers.Go(func() {
					for left.Load() > 0 {
						select {
						case msg := <-queue:
							if worker.handle(t.Context(), msg) == nil {
								left.Add(-1)
							} else {
								queue <- msg
							}
						case <-time.After(time.Second):
						}
					}
				})
			}
			workers.Wait()
			t.Logf("AttemptTimeout %s: %d of 2000 set aside", timeout, aside.Load())
			require.Equal(t, timeout < 50/4*time.Second, aside.Load() > 0)
		})
	}
}

// Twenty workers take five messages a second. Of these, one in 100 or in 20 always fails, after all attempts or at the
// first. With fifty of them a process has died four times. With and without 20 minutes of outage or flapping, every good message is
// delivered, and every bad one is set aside. After the outage they are at most two minutes behind, and after a hang no
// longer than the slots need to grow.
func TestConsumerOutage(t *testing.T) {
	for _, bad := range []int{100, 20} {
		for _, outage := range []string{"none", "refuses", "hangs", "flaps"} {
			for _, quickly := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { testConsumerOutage(t, bad, outage, quickly) })
			}
		}
	}
}

// A letter is a message of the test.
type letter struct {
	Message
	sent time.Time
	bad  bool
}

func testConsumerOutage(t *testing.T, bad int, outage string, quickly bool) {
	deliveries.Slots = new(backoff.Slots)
	start := time.Now()
	from, to := start.Add(5*time.Minute), start.Add(25*time.Minute)
	if outage == "none" {
		to = from
	}
	letters := map[*Message]*letter{}
	queue := make(chan *Message, 30*60*5)
	var mu sync.Mutex
	var left atomic.Int64
	var late, longest time.Duration // after the outage; of a call of handle
	good, aside := 0, 0

	worker := &Worker{store: stored}
	worker.deliver = func(ctx context.Context, msg *Message) error {
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		now, letter := time.Now(), letters[msg]
		switch {
		case now.Before(to) && now.After(from) && outage == "hangs":
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			return ctx.Err()
		case now.Before(to) && now.After(from) && outage == "refuses":
			return errDown
		case now.Before(to) && now.After(from) && now.Sub(from)%(30*time.Second) > 3*time.Second: // it flaps
			return errDown
		case letter.bad && quickly:
			return backoff.Permanent(errDown)
		case letter.bad:
			return errDown
		}
		good++
		if letter.sent.After(from) && letter.sent.Before(to) {
			letter.sent = to
		}
		late = max(late, now.Sub(letter.sent))
		return nil
	}
	worker.deadLetter = func(_ context.Context, msg *Message, _ error) error {
		mu.Lock()
		defer mu.Unlock()
		assert.True(t, letters[msg].bad, "a good message is set aside")
		aside++
		return nil
	}
	for range 20 {
		go func() {
			for msg := range queue {
				begun := time.Now()
				err := worker.handle(t.Context(), msg)
				mu.Lock()
				longest = max(longest, time.Since(begun))
				mu.Unlock()
				switch {
				case err == nil:
					left.Add(-1)
				case msg.Failures == 0 && msg.Begun == 0:
					queue <- msg
				default:
					time.AfterFunc(rand.N(30*time.Second), func() { queue <- msg })
				}
			}
		}()
	}

	// Half an hour, and as long as bad ones come back. Others must get through then.
	sent, bads := 0, 0
	for time.Since(start) < 30*time.Minute || left.Load() > 0 && time.Since(start) < time.Hour {
		letter := &letter{sent: time.Now(), bad: sent%bad == 0 && time.Since(start) < 28*time.Minute}
		if letter.bad {
			bads++
		}
		sent++
		left.Add(1)
		if time.Since(from) >= 0 && time.Since(from) < 10*time.Second {
			letter.Begun = 4 // by processes that have died
		}
		mu.Lock()
		letters[&letter.Message] = letter
		mu.Unlock()
		queue <- &letter.Message
		time.Sleep(time.Second / 5)
	}
	close(queue)
	name := fmt.Sprintf("1 in %d is bad, quickly %t, outage: %s", bad, quickly, outage)
	t.Logf("%s: at most %s late, handled in %s", name, late.Round(time.Second/10), longest.Round(time.Second/10))
	require.LessOrEqual(t, longest, patience+time.Minute)
	require.Zero(t, left.Load(), name)
	require.Equal(t, bads, aside, name)
	require.Equal(t, sent-bads, good, name)
	if outage == "hangs" {
		require.Less(t, late, 5*time.Minute, name)
	} else {
		require.Less(t, late, 2*time.Minute, name)
	}
}

func files() []string {
	all := make([]string, 5000)
	for i := range all {
		all[i] = fmt.Sprint("file-", i)
	}
	return all
}

// A batch over httpretry, whose 503s come with a nil error, or over a Retrier outlasts an outage of ten seconds, leaves
// out bad files, and ends if the outage does not. Over httpretry, files that are not sent again end it immediately.
func TestBatch(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"Retrier":             func(*http.Request) {},
		"PUT":                 func(*http.Request) {},
		"POST with a key":     func(req *http.Request) { req.Method = "POST"; req.Header.Set("Idempotency-Key", req.URL.Path) },
		"POST without a key":  func(req *http.Request) { req.Method = "POST" },
		"PUT without GetBody": func(req *http.Request) { req.GetBody = nil },
	} {
		for _, wait := range []time.Duration{0, 7 * time.Second, 61 * time.Second, 20 * time.Minute} {
			for _, outage := range []time.Duration{10 * time.Second, time.Hour * 24} {
				synctest.Test(t, func(t *testing.T) { testBatch(t, name, change, wait, outage) })
			}
		}
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, uploadAll(ended, files()), context.Canceled)
}

func testBatch(t *testing.T, name string, change func(*http.Request), wait, outage time.Duration) {
	start := time.Now()
	var requests atomic.Int64
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		requests.Add(1)
		time.Sleep(time.Second)
		content, err := io.ReadAll(req.Body)
		switch {
		case err != nil || "/"+string(content) != req.URL.Path:
			return answer(400, ""), nil
		case time.Since(start) < outage:
			return later(wait), nil
		case strings.HasPrefix(req.URL.Path, "/file-7"):
			return answer(422, ""), nil
		}
		return answer(200, ""), nil
	})}
	if name != "Retrier" {
		defer func(r backoff.Retrier) { uploads = r }(uploads)
		client.Transport = &httpretry.Transport{
			Base:           client.Transport,
			AttemptTimeout: uploads.AttemptTimeout,
			Slots:          uploads.Slots,
			MaxAttempts:    uploads.MaxAttempts,
			MaxRetryAfter:  uploads.MaxRetryAfter,
		}
		uploads = backoff.Retrier{AttemptTimeout: -1, MaxAttempts: 1}
	}
	upload = func(ctx context.Context, with ...any) error {
		file := with[0].(string) // its name is what is in it
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://localhost/"+file, strings.NewReader(file))
		require.NoError(t, err)
		change(req)
		resp, err := client.Do(req)
		switch {
		case err != nil:
			return err
		case resp.StatusCode == 422:
			return backoff.Permanent(fmt.Errorf("%w: %s", errBad, resp.Status))
		case resp.StatusCode >= 400:
			asked, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
			return backoff.RetryAfter(errors.New(resp.Status), asked)
		}
		return nil
	}

	err := uploadAll(t.Context(), files())
	name = fmt.Sprint(name, wait, outage)
	switch {
	case strings.Contains(name, "without"):
		require.ErrorContains(t, err, "twenty failures in a row", name)
		require.Less(t, time.Since(start), 10*time.Second, name)
	case outage == 10*time.Second && wait < 20*time.Minute:
		require.EqualError(t, err, "111 files are not uploaded", name)
	default:
		require.ErrorContains(t, err, "5000 files are not uploaded\ntwenty failures in a row", name)
		require.LessOrEqual(t, requests.Load(), int64(100*21+100), name)
		require.Less(t, time.Since(start), 2*time.Hour, name)
	}
}

// A program's call is tried three times, a library's as its program says.
func TestFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		call := func(context.Context) error { calls++; return errDown }
		start := time.Now()
		require.ErrorIs(t, remote.Do(t.Context(), call), errDown)
		require.Equal(t, 3, calls)
		require.Greater(t, time.Since(start), 6*time.Second)
		require.Less(t, time.Since(start), 19*time.Second)

		client := Client{Retrier: backoff.Retrier{MaxAttempts: 1}}
		require.Equal(t, errDown, client.Retrier.Do(t.Context(), call))
		require.Equal(t, 4, calls)
	})
}

// A transaction that conflicts is repeated, as often as it must.
func TestTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memory{commits: slices.Repeat([]error{conflict}, 15)}
		db = sql.OpenDB(s)
		defer db.Close()
		require.NoError(t, rename(t.Context(), 1, "Ada"))
		require.Equal(t, 16, s.begins)
	})
}

// An order whose COMMIT gets no answer is placed again, and is there once. So is one whose BEGIN hangs for a while. An
// order that is refused, though not for its key, is not there.
func TestPlace(t *testing.T) {
	lost := &net.OpError{Op: "read", Net: "tcp", Err: io.ErrUnexpectedEOF}
	for name, test := range map[string]struct {
		hangs   time.Duration
		commits []error
		unique  any
		begins  int
		err     error
	}{
		"COMMIT":   {commits: []error{lost}, begins: 2},
		"conflict": {commits: []error{conflict, lost}, begins: 3},
		"hang":     {hangs: 12 * time.Second, begins: 3},
		"again":    {unique: "key", begins: 1},
		"refused":  {unique: int64(1), begins: 1, err: duplicate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &memory{hangs: time.Now().Add(test.hangs), commits: test.commits, unique: map[any]bool{test.unique: true}}
				db = sql.OpenDB(s)
				defer db.Close()
				require.ErrorIs(t, place(t.Context(), "key", 1), test.err)
				require.Equal(t, test.begins, s.begins)
				require.Equal(t, test.err == nil, s.unique["key"])
			})
		})
	}
}

// A call that was cancelled has placed nothing, though the reason was another call that had been done before.
func TestPlaceCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errDone)
	require.ErrorIs(t, place(ctx, "key", 1), context.Canceled)
}

// api10 is an API that allows ten requests a second, and hangs for ten seconds, after half a minute.
type api10 struct {
	takes   time.Duration
	hangs   bool
	mu      sync.Mutex
	allowed []time.Time
	refused int
}

func (a *api10) serve(ctx context.Context) error {
	a.mu.Lock()
	now := time.Now()
	if n := len(a.allowed); n >= 10 && now.Sub(a.allowed[n-10]) < time.Second {
		a.refused++
		a.mu.Unlock()
		return backoff.RetryAfter(errDown, time.Second)
	}
	a.allowed = append(a.allowed, now)
	since := now.Sub(a.allowed[0])
	a.mu.Unlock()

	if a.hangs && since > 30*time.Second && since < 40*time.Second {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(a.takes)
	return nil
}

func (a *api10) RoundTrip(req *http.Request) (*http.Response, error) {
	err := a.serve(req.Context())
	switch {
	case errors.Is(err, errDown):
		resp := later(time.Second)
		resp.StatusCode = 429
		return resp, nil
	case err != nil:
		return nil, err
	}
	return answer(200, ""), nil
}

// freshLimiters replaces the pages' limiters by some like them, whose time has not begun.
func freshLimiters() {
	pace = rate.NewLimiter(pace.Limit(), pace.Burst())
	client := limited.Transport.(*httpretry.Transport)
	limiter := client.Base.(paced)
	client.Base = paced{rate.NewLimiter(limiter.Limit(), limiter.Burst())}
}

// Two thousand requests of two hundred workers, over httpretry and over a Retrier: with ten seconds of hang they take
// at most a quarter longer than nine a second do, all succeed, and none gets a 429.
func TestPool(t *testing.T) {
	defer func(tr http.RoundTripper) { http.DefaultTransport = tr }(http.DefaultTransport)
	clients := map[string]func(ctx context.Context) error{
		"httpretry": func(context.Context) error {
			resp, err := limited.Get("http://localhost")
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != 200 {
				return errors.New(resp.Status)
			}
			return nil
		},
		"Retrier": func(ctx context.Context) error { return lookUpPaced(ctx, "") },
	}
	for name, call := range clients {
		for _, takes := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
			var took [2]time.Duration
			for i, hangs := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					freshLimiters()
					server := &api10{takes: takes, hangs: hangs}
					http.DefaultTransport = server
					lookUp = func(ctx context.Context, _ ...any) error { return server.serve(ctx) }
					start := time.Now()
					group, ctx := errgroup.WithContext(t.Context())
					group.SetLimit(200)
					for range 2000 {
						group.Go(func() error { return call(ctx) })
					}
					require.NoError(t, group.Wait(), "%s %s", name, takes)
					require.Zero(t, server.refused, "%s %s", name, takes)
					took[i] = time.Since(start)
					require.LessOrEqual(t, took[i], 2000/9*time.Second*5/4, "%s %s", name, takes)
				})
			}
			t.Logf("%s, answers of %s: %s, with ten seconds of hang %s", name, takes, took[0].Round(time.Second), took[1].Round(time.Second))
		}
	}
}

// Of two hundred POSTs at once none is lost, though another process sends two requests a second to the same API.
func TestRateLimit(t *testing.T) {
	defer func(tr http.RoundTripper) { http.DefaultTransport = tr }(http.DefaultTransport)
	synctest.Test(t, func(t *testing.T) {
		freshLimiters()
		server := new(api10)
		http.DefaultTransport = server
		other := time.NewTicker(500 * time.Millisecond)
		defer other.Stop()
		go func() {
			for range 100 {
				<-other.C
				_ = server.serve(t.Context())
			}
		}()

		good := make(chan bool)
		for range 200 {
			go func() {
				resp, err := limited.Post("http://localhost", "", strings.NewReader("body"))
				good <- err == nil && resp.Body.Close() == nil && resp.StatusCode == 200
			}()
		}
		for range 200 {
			require.True(t, <-good)
		}
		require.NotZero(t, server.refused)
		time.Sleep(time.Minute)
	})
}

// A POST whose turn does not come in time has not been sent, and says so.
func TestPaced(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost", strings.NewReader("body"))
	_, err := paced{rate.NewLimiter(9, 1)}.RoundTrip(req)
	require.ErrorIs(t, err, context.Canceled)
	refused, ok := errors.AsType[*net.OpError](err)
	require.True(t, ok)
	require.Equal(t, "dial", refused.Op)
}

// A countingBody counts what is read, and is closed.
type countingBody struct {
	io.Reader
	read   int
	closed bool
}

func (b *countingBody) Read(data []byte) (int, error) {
	n, err := b.Reader.Read(data)
	b.read += n
	return n, err
}

func (b *countingBody) Close() error { b.closed = true; return nil }

// The body of an answer is read before it is closed, as far as that is sensible.
func TestGetDrains(t *testing.T) {
	defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
	for size, want := range map[int]int{1000: 1000, 1 << 20: 64 << 10} {
		resp := answer(404, "")
		body := &countingBody{Reader: strings.NewReader(strings.Repeat("x", size))}
		resp.Body = body
		http.DefaultClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })}
		_, err := get(t.Context(), "1")
		require.EqualError(t, err, "404 Not Found")
		require.Equal(t, want, body.read)
		require.True(t, body.closed)
	}
}

// An answer that breaks off, a 503 and a lost connection are followed by another attempt, a 404 is not.
func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
		usersURL = "http://localhost/"
		answers := []func() (*http.Response, error){
			func() (*http.Response, error) { return answer(200, `{"Name": "Ad`), nil },
			func() (*http.Response, error) { return later(7 * time.Second), nil },
			func() (*http.Response, error) { return nil, errDown },
			func() (*http.Response, error) { return answer(200, `{"Name": "Ada"}`), nil },
			func() (*http.Response, error) { return answer(404, ""), nil },
		}
		sent := 0
		http.DefaultClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			sent++
			return answers[sent-1]()
		})}
		start := time.Now()
		user, err := get(t.Context(), "1/2")
		require.NoError(t, err)
		require.Equal(t, "Ada", user.Name)
		require.Greater(t, time.Since(start), 7*time.Second)
		_, err = get(t.Context(), "2")
		require.EqualError(t, err, "404 Not Found")
		require.Equal(t, 5, sent)
	})
}

// What no attempt will mend is tried once: a certificate that is not accepted, and a host that does not exist.
func TestGetPermanent(t *testing.T) {
	for _, err := range []error{x509.UnknownAuthorityError{}, &net.DNSError{IsNotFound: true}} {
		synctest.Test(t, func(t *testing.T) {
			defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
			sent := 0
			http.DefaultClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				sent++
				return nil, err
			})}
			_, got := get(t.Context(), "1")
			require.ErrorIs(t, got, err)
			require.Equal(t, 1, sent)
		})
	}
}

// A payment that may have been carried out is sent again, always with the same key.
func TestPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paymentsURL = "http://localhost/"
		paid := map[string]int{}
		under(catalog, func(req *http.Request) (*http.Response, error) {
			paid[req.Header.Get("Idempotency-Key")]++
			if len(paid) == 1 && paid["pay-1"] < 3 {
				<-req.Context().Done() // it is carried out, but nobody hears of it
				return nil, req.Context().Err()
			}
			return answer(200, ""), nil
		})
		require.NoError(t, pay(t.Context(), "1", []byte("10")))
		require.NoError(t, pay(t.Context(), "2", nil))
		require.Equal(t, map[string]int{"pay-1": 3, "pay-2": 1}, paid)
	})
}

// A payment is refused only if its first attempt was, with a status that says so. A redirect is not followed. All else may
// have been paid, also a refusal after an attempt that got no answer.
func TestPayRefused(t *testing.T) {
	paymentsURL = "http://localhost/"
	catalog.Transport.(*httpretry.Transport).Budget = nil
	for _, lost := range []bool{false, true} {
		for _, status := range []int{200, 201, 301, 303, 307, 400, 401, 402, 404, 408, 409, 422, 429, 500, 501, 503, 520} {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				body := &countingBody{Reader: strings.NewReader(strings.Repeat("x", 1000))}
				under(catalog, func(*http.Request) (*http.Response, error) {
					sent++
					if lost && sent == 1 {
						return nil, errDown // it is carried out all the same
					}
					resp := answer(status, "")
					resp.Header.Set("Location", "http://localhost/new")
					if !backoff.RetryableStatus(status) {
						resp.Body = body
					}
					return resp, nil
				})
				err := pay(t.Context(), "1", []byte("10"))
				require.Equal(t, status < 300, err == nil, status)
				switch status {
				case 400, 401, 402, 404, 422:
					require.Equal(t, !lost, errors.Is(err, errRefused), status)
				default:
					require.NotErrorIs(t, err, errRefused, status)
				}
				if body.read > 0 {
					require.Equal(t, 1000, body.read, status)
					require.True(t, body.closed, status)
				}
			})
		}
	}
	for _, client := range []*http.Client{catalog, limited} {
		require.Equal(t, http.ErrUseLastResponse, client.CheckRedirect(nil, nil))
	}
}

// What a date in Retry-After asks for is measured by the server's clock.
func TestAsked(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for _, ahead := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		resp := answer(503, "")
		resp.Header.Set("Date", now.Add(ahead).Format(http.TimeFormat))
		resp.Header.Set("Retry-After", now.Add(ahead+time.Minute).Format(http.TimeFormat))
		require.Equal(t, time.Minute, asked(resp))
	}
	require.Equal(t, 7*time.Second, asked(later(7*time.Second)))
	require.Zero(t, asked(answer(503, "")))
}

// A server that says whether to send a request again is obeyed.
func TestGetToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
		sent := 0
		http.DefaultClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			sent++
			if sent == 1 {
				resp := answer(401, "") // as of a signer, which has a new token next time
				resp.Header.Set("X-Should-Retry", "true")
				return resp, nil
			}
			return answer(200, `{"Name": "Ada"}`), nil
		})}
		user, err := get(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, "Ada", user.Name)
	})
}

// A plain loop makes four attempts.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		load = func(context.Context) error { calls++; return errDown }
		require.Equal(t, errDown, refresh(t.Context()))
		require.Equal(t, 4, calls)
	})
}

// Waiting for a database ends after two minutes, even if it hangs.
func TestReady(t *testing.T) {
	for _, hangs := range []time.Duration{time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			db := sql.OpenDB(&hanging{until: start.Add(hangs)})
			defer db.Close()
			err := waitForDB(t.Context(), db)
			if hangs == time.Minute {
				require.NoError(t, err)
				require.Less(t, time.Since(start), 70*time.Second)
				return
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.InDelta(t, 2*time.Minute, time.Since(start), float64(12*time.Second))
		})
	}
}

// A hanging database connects to nobody before a time.
type hanging struct {
	memory
	until time.Time
}

func (h *hanging) Connect(ctx context.Context) (driver.Conn, error) {
	select {
	case <-time.After(time.Until(h.until)):
		return h, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Waiting for somebody else goes on when the server asks for more than a minute, and ends with the deadline.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		calls := 0
		lookForReport = func(context.Context) error {
			calls++
			switch {
			case calls == 1:
				return backoff.RetryAfter(errDown, 61*time.Second)
			case time.Since(start) < 4*time.Minute:
				return errDown
			}
			return nil
		}
		require.NoError(t, waitForReport(t.Context()))
		require.Greater(t, calls, 10)

		start = time.Now().Add(time.Hour)
		err := waitForReport(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errDown)
	})
}

// A method that is named is repeated, another one is not. (Orders/Get is answered by nobody: the handler sees all.)
func TestGRPC(t *testing.T) {
	calls := map[string]int{}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		calls[method]++
		if calls[method] < 3 {
			return status.Error(codes.Unavailable, "down")
		}
		return stream.SendMsg(new(emptypb.Empty))
	}))
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	go server.Serve(listener)
	defer server.Stop()

	conn, err := dialOrders("passthrough:///"+listener.Addr().String(), insecure.NewCredentials())
	require.NoError(t, err)
	defer conn.Close()
	const read, write = "/orders.v1.Orders/Get", "/orders.v1.Orders/Create"
	require.NoError(t, conn.Invoke(t.Context(), read, new(emptypb.Empty), new(emptypb.Empty)))
	err = conn.Invoke(t.Context(), write, new(emptypb.Empty), new(emptypb.Empty))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, map[string]int{read: 3, write: 1}, calls)
}
