package shared

import (
	"context"
	"net/http"
	"sync"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

var (
	limited  = backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10)
	literal  = &backoff.ExponentialBackOff{InitialInterval: time.Second}
	linear   = own.NewLinearBackOff(time.Second)
	budgeted = own.WithBudget(own.NewConstantBackOff(time.Second), &own.Budget{})
	function = newPolicy()

	constant = backoff.NewConstantBackOff(time.Second)
	zero     = &backoff.ZeroBackOff{}
	budget   = &own.Budget{}
	template = backoff.ExponentialBackOff{InitialInterval: time.Second}
	chosen   backoff.BackOff // by another package
	replaced backoff.BackOff = backoff.NewExponentialBackOff()
)

func variables(ctx context.Context, id string) {
	_ = backoff.Retry(op, limited)                                               // want `share limited, which .* \[shared\]`
	_ = backoff.Retry(op, backoff.WithContext(literal, ctx))                     // want `share literal, which`
	_ = backoff.RetryNotify(op, literal, nil)                                    // want `share literal, which`
	_, _ = backoff.RetryWithData(func() (int, error) { return 0, nil }, literal) // want `share literal, which` `goes on when ctx is done`
	_ = backoff.NewTicker(literal)                                               // want `share literal, which`
	_ = literal.NextBackOff()                                                    // want `share literal, which`
	_ = own.Retry(op, linear)                                                    // want `share linear, which`
	_ = own.Retry(op, budgeted)                                                  // want `share budgeted, which`
	_ = backoff.Retry(op, function)                                              // want `share function, which`

	_ = backoff.Retry(op, constant)
	_ = backoff.Retry(op, zero)
	_ = backoff.Retry(op, backoff.WithMaxRetries(backoff.WithContext(constant, ctx), 3))
	_ = own.Retry(op, own.WithBudget(own.NewExponentialBackOff(), budget))
	_ = backoff.Retry(op, chosen)
	_ = backoff.Retry(op, replaced)
	copied := template
	_ = backoff.Retry(op, &copied)
}

// Its type says which policy it is.
func newPolicy() *backoff.ExponentialBackOff { return backoff.NewExponentialBackOff() }

func replace(b backoff.BackOff) { replaced = b }

// Nothing says that these run more than once at a time.
func once() error                      { return backoff.Retry(op, limited) }
func run(ctx context.Context) error    { return backoff.Retry(op, backoff.WithContext(limited, ctx)) }
func connect(name string, n int) error { return backoff.Retry(op, limited) }

var mu sync.Mutex

func locked(ctx context.Context, id string) error {
	mu.Lock()
	defer mu.Unlock()
	return backoff.Retry(op, limited)
}

func tried(ctx context.Context, id string) error {
	if !mu.TryLock() {
		return nil
	}
	defer mu.Unlock()
	return backoff.Retry(op, limited)
}

var semaphore = make(chan struct{}, 1)

func alone(ctx context.Context, id string) error {
	select {
	case semaphore <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-semaphore }()
	return backoff.Retry(op, limited)
}

var places = make(chan int, 1)

func oneOf(ctx context.Context, id string) error {
	places <- 0
	defer func() { <-places }()
	return backoff.Retry(op, limited)
}

func oneOfOne(ctx context.Context, id string) error {
	places <- 1
	defer func() { <-places }()
	return backoff.Retry(op, limited)
}

func oneOrNone(ctx context.Context, id string) error {
	select {
	case places <- 1:
	default:
		return ctx.Err()
	}
	defer func() { <-places }()
	return backoff.Retry(op, limited)
}

func oneIfFree(ctx context.Context, id string) error {
	select {
	case places <- 1:
		defer func() { <-places }()
		return backoff.Retry(op, limited)
	default:
	}
	return ctx.Err()
}

var taken = make(chan bool, 1)

func take(ctx context.Context, id string) error {
	taken <- true
	defer func() { <-taken }()
	return backoff.Retry(op, limited)
}

type weighted interface {
	TryAcquire(n int64) bool
	Acquire(ctx context.Context, n int64) error
}

func acquired(ctx context.Context, w weighted) error {
	if err := w.Acquire(ctx, 1); err != nil {
		return err
	}
	return backoff.Retry(op, limited)
}

func placed(ctx context.Context, w weighted) error {
	if !w.TryAcquire(1) {
		return nil
	}
	return backoff.Retry(op, limited)
}

func free(ctx context.Context, id string) error { return backoff.Retry(op, limited) } // want `share limited, which`

// A result that is sent takes no place in a semaphore.
func sends(ctx context.Context, errs chan error) {
	errs <- backoff.Retry(op, limited) // want `share limited, which`
}

type server struct {
	policy  backoff.BackOff
	steady  backoff.BackOff
	given   backoff.BackOff
	renewed backoff.BackOff
	exact   *backoff.ExponentialBackOff // set by another package
}

func NewServer(given backoff.BackOff) *server {
	policy := backoff.NewExponentialBackOff()
	policy.MaxInterval = time.Second
	return &server{policy: policy, steady: backoff.NewConstantBackOff(time.Second), given: given}
}

func (s *server) update(ctx context.Context, id string) {
	_ = backoff.Retry(op, s.policy) // want `share policy, which`
	_ = backoff.Retry(op, s.steady)
	_ = backoff.Retry(op, s.given)
	_ = backoff.Retry(op, s.exact)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, s.policy) // want `share policy, which`
}

// A loop that keeps its state in a field.
func (s *server) reconnect(ctx context.Context, id string) time.Duration {
	return s.policy.NextBackOff()
}

// A session belongs to one request, whoever makes it.
type session struct {
	policy backoff.BackOff
	other  backoff.BackOff
}

func (s *session) load(ctx context.Context, id string) error {
	_ = backoff.Retry(op, s.other)
	return backoff.Retry(op, s.policy)
}

func newSession() *session { return &session{policy: backoff.NewExponentialBackOff()} }

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	_ = newSession().load(r.Context(), "a")
}

func fetch(ctx context.Context, id string) error {
	s := &session{other: backoff.NewExponentialBackOff()}
	return s.load(ctx, id)
}

// A connection belongs to the goroutine that serves it.
type connection struct{ policy backoff.BackOff }

func (c *connection) load(ctx context.Context, id string) error { return backoff.Retry(op, c.policy) }

func (s *server) listen() {
	for {
		go s.serve()
	}
}

func (s *server) serve() {
	c := connection{policy: backoff.NewExponentialBackOff()}
	_ = c.load(context.Background(), "a")
}

// A client is kept.
type client struct{ policy backoff.BackOff }

func NewClient(name string) (*client, error) {
	return &client{policy: backoff.NewExponentialBackOff()}, nil
}

func (c *client) load(ctx context.Context, id string) error {
	return backoff.Retry(op, c.policy) // want `share policy, which`
}

type pool struct {
	policy backoff.BackOff
	first  *pool
}

func NewPool() *pool { return &pool{policy: backoff.NewExponentialBackOff()} }

func (p *pool) start(ctx context.Context, name string) { p.first = NewPool() }

func (p *pool) load(ctx context.Context, id string) error {
	return backoff.Retry(op, p.policy) // want `share policy, which`
}

func perCall(ctx context.Context, id string) {
	b := backoff.NewExponentialBackOff()
	_ = backoff.Retry(op, b)
	func() { _ = backoff.Retry(op, b) }()
}

type group struct{}

func (group) Go(f func()) { go f() }
func (group) Wait()       {}

func goroutines(names []string, g group) {
	b := backoff.NewExponentialBackOff()
	var state struct{ started, called bool }
	for range names {
		go func() {
			state.started, state.called = true, true
			_ = backoff.Retry(op, b) // want `share b, which`
		}()
		g.Go(func() {
			_ = backoff.Retry(op, b) // want `share b, which`
		})
	}
	worker := func() {
		_ = b.NextBackOff() // want `share b, which`
	}
	for range 4 {
		go worker()
	}

	one := backoff.NewExponentialBackOff()
	go func() { _ = backoff.Retry(op, one) }()
	for range names {
		each := backoff.NewExponentialBackOff()
		go func() { _ = backoff.Retry(op, each) }()
		go func() {
			mine := backoff.NewExponentialBackOff()
			_ = backoff.Retry(op, mine)
		}()
		func() { _ = backoff.Retry(op, one) }()
	}
}

func handlers(mux *http.ServeMux) {
	b := backoff.NewExponentialBackOff()
	mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {
		_ = backoff.Retry(op, b) // want `share b, which`
	})
	mux.HandleFunc("/b", func(w http.ResponseWriter, r *http.Request) {
		_ = backoff.Retry(op, backoff.NewExponentialBackOff())
	})
}

type config struct {
	RetryBackoff func(attempt int) time.Duration
	Interval     func() time.Duration
}

func hooks(exp *backoff.ExponentialBackOff, any backoff.BackOff) config {
	b := backoff.NewExponentialBackOff()
	_ = config{RetryBackoff: func(attempt int) time.Duration {
		return exp.NextBackOff() // want `share exp, which`
	}}
	_ = config{RetryBackoff: func(int) time.Duration { return any.NextBackOff() }}
	return config{
		RetryBackoff: func(attempt int) time.Duration {
			if attempt == 1 {
				b.Reset()
			}
			return b.NextBackOff() // want `share b, which`
		},
		Interval: func() time.Duration { return b.NextBackOff() },
	}
}

func lockedHook() {
	b := backoff.NewExponentialBackOff()
	_ = config{RetryBackoff: func(int) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return b.NextBackOff()
	}}
}

func (s *server) states() map[backoff.BackOff]bool { return map[backoff.BackOff]bool{s.policy: true} }

type keyed struct {
	policy backoff.BackOff
	budget *own.Budget
}

// A field as the key of a map is not set.
func (k *keyed) state() map[backoff.BackOff]bool {
	return map[backoff.BackOff]bool{k.policy: k.budget.Withdraw()}
}

func (k *keyed) get(ctx context.Context, id string) error { return backoff.Retry(op, k.policy) }

// What a sync.Once runs, runs once.
type lazy struct {
	once   sync.Once
	policy backoff.BackOff
}

func NewLazy() *lazy { return &lazy{policy: backoff.NewExponentialBackOff()} }

func (l *lazy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.once.Do(func() { _ = backoff.Retry(op, l.policy) })
	start := sync.OnceFunc(func() { _ = backoff.Retry(op, l.policy) })
	start()
}

func (l *lazy) start(names []string) {
	for range names {
		go func() {
			l.once.Do(func() { _ = backoff.Retry(op, l.policy) })
		}()
	}
	l.once.Do(func() {
		for range names {
			go func() { _ = backoff.Retry(op, l.policy) }()
		}
	})
}

func (l *lazy) load(ctx context.Context, id string) error {
	l.once.Do(func() {})
	return backoff.Retry(op, l.policy)
}

func together(names []string, tick chan int) {
	b := backoff.NewExponentialBackOff()
	var wg sync.WaitGroup
	done := make(chan int)
	for range names {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = backoff.Retry(op, b) // want `share b, which`
		}()
		<-tick
	}
	wg.Wait()
	for range names {
		go func() {
			_ = backoff.Retry(op, b) // want `share b, which`
			done <- len(names)
		}()
		go func() { <-done }()
	}
	for {
		<-done
		select {
		case <-tick:
			go func() {
				_ = backoff.Retry(op, b) // want `share b, which`
				tick <- <-done
			}()
		case <-done:
			return
		}
	}
}

// A method that is called often starts goroutines that share its fields.
type prover struct {
	policy, alone, mine, late, kept, set backoff.BackOff
	wg                                   sync.WaitGroup
	notify                               chan struct{}
}

func newProver() *prover {
	return &prover{
		policy: backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 5),
		alone:  backoff.NewExponentialBackOff(),
		mine:   backoff.NewExponentialBackOff(),
		late:   backoff.NewExponentialBackOff(),
		kept:   backoff.NewExponentialBackOff(),
	}
}

func (p *prover) run(jobs chan int) {
	wake := func() {
		select {
		case p.notify <- struct{}{}:
		default:
		}
	}
	p.startAlone()
	for {
		select {
		case <-jobs:
			p.start()
			p.step()
		case <-p.notify:
			wake()
			go p.workFirst(nil)
		}
	}
}

func (p *prover) start() {
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		_ = backoff.Retry(op, p.policy)
	}()
}

func (p *prover) startAlone() {
	go func() { _ = backoff.Retry(op, p.alone) }()
}

// What a method with a context sets in its own struct is not its request's alone.
func (p *prover) init(ctx context.Context, name string) { setUp(ctx, p) }

func setUp(ctx context.Context, p *prover) { p.set = backoff.NewExponentialBackOff() }

func (p *prover) check(ctx context.Context, name string) {
	_ = backoff.Retry(op, p.set)
}

type visit struct{ policy backoff.BackOff }

func (v *visit) init() { v.policy = backoff.NewExponentialBackOff() }

func (v *visit) load(ctx context.Context, id string) error { return backoff.Retry(op, v.policy) }

func (p *prover) visit(w http.ResponseWriter, r *http.Request) {
	v := new(visit)
	v.init()
	_ = v.load(r.Context(), "a")
}

// So does one that is called by it.
func (p *prover) step() { p.begin(p) }

func (p *prover) begin(other *prover) {
	go other.work()
}

func (p *prover) work() {
	_ = backoff.Retry(op, p.kept)
}

// Each of these has a prover of its own.
func provers(all []*prover, byName map[string]*prover, names []string, g group) {
	for _, p := range all {
		g.Go(p.workMine)
		go p.workFirst(all)
		p.startMine()
		go func() { _ = backoff.Retry(op, p.mine) }()
	}
	for range names {
		p := newProver()
		p.startMine()
	}
	for _, name := range names {
		byName[name].startMine()
	}
}

func (p *prover) startMine() {
	go func() { _ = backoff.Retry(op, p.mine) }()
	go p.workMine()
}

func (p *prover) workFirst(all []*prover) {
	first := all[0]
	_ = backoff.Retry(op, first.mine)
}

func (p *prover) workMine() { _ = backoff.Retry(op, p.mine) }

var op func() error
