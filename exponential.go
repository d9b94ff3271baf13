package backoff

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"
)

// ExponentialBackOff is a policy whose waits grow: by half each time, up to a minute, unless you choose
// otherwise. Each wait is drawn at random from around an interval, so that clients that failed together do
// not retry together:
//
//	interval 1   = min(InitialInterval, MaxInterval)
//	interval n+1 = min(interval n × Multiplier, MaxInterval)
//	wait         = interval × a random factor from [1 − RandomizationFactor, 1 + RandomizationFactor]
//
// With the defaults the first ten intervals are:
//
//	retry   interval (s)   wait (s)
//	    1          0.500   0.250 …  0.750
//	    2          0.750   0.375 …  1.125
//	    3          1.125   0.562 …  1.688
//	    4          1.688   0.844 …  2.531
//	    5          2.531   1.266 …  3.797
//	    6          3.797   1.898 …  5.695
//	    7          5.695   2.848 …  8.543
//	    8          8.543   4.271 … 12.814
//	    9         12.814   6.407 … 19.222
//	   10         19.222   9.611 … 28.833
//
// Make one with [NewExponentialBackOff]. A literal works too; each field says what zero means.
//
// When a server has asked for a wait (see [RetryAfter]), the random part of the wait is added to that. At first it
// spreads clients that received the same time over half a second. If you have many clients, make InitialInterval
// about as long as the service needs to answer all of them: clients / requests per second.
//
// An ExponentialBackOff holds the state of one loop; it must not be used by two loops at once.
type ExponentialBackOff struct {
	// InitialInterval is the first interval. A negative value means DefaultInitialInterval. So does zero,
	// but in a policy with a Clock, such as NewExponentialBackOff returns, zero means no waits.
	InitialInterval time.Duration

	// RandomizationFactor is how far a wait may be from the interval, as a fraction of the interval.
	// Zero means no randomness; 1 means anything between zero and twice the interval. Other values are
	// clamped to that range, and NaN means zero. Only ProportionalJitter, the default, uses it.
	RandomizationFactor float64

	// Multiplier is the factor by which the interval grows. Zero and NaN mean DefaultMultiplier;
	// other values below 1 mean 1, which is no growth.
	Multiplier float64

	// MaxInterval caps the interval. A wait may be longer by RandomizationFactor. Zero or negative
	// means DefaultMaxInterval.
	MaxInterval time.Duration

	// MaxElapsedTime limits the time from the start of the loop to the end of its last wait, attempts
	// included. Zero means no limit; a negative value means no retries.
	MaxElapsedTime time.Duration

	// Stop is for programs written for cenkalti/backoff v4. NextBackOff returns it in place of a wait that does
	// not fit into MaxElapsedTime. Zero means the constant Stop, which ends the loop. A positive value does not
	// end the loop: it is the wait. (In such a program, if Clock is set and no loop of this package calls
	// NextBackOff, zero means zero.)
	Stop time.Duration

	// Clock measures the elapsed time. Nil means SystemClock. It is for programs written for v4, and for tests
	// without testing/synctest. Call Reset after replacing it.
	Clock Clock

	// Rand is the source of randomness. Set it, with a seed, for waits that can be reproduced. Nil means
	// the source of math/rand/v2's functions. A Rand must not be used by two policies at once.
	Rand *rand.Rand

	// Jitter selects how waits are randomized. The zero value is ProportionalJitter.
	Jitter Jitter

	started  bool          // Reset has run
	since    time.Duration // the start of the elapsed time, on timeline
	timeline timeline
	current  time.Duration // the next interval; 0 after Reset
	lastWait time.Duration // of DecorrelatedJitter; 0 after Reset
	caller   caller        // of NextBackOff
}

// Defaults for the fields of [ExponentialBackOff], as [NewExponentialBackOff] sets them.
const (
	DefaultInitialInterval     = 500 * time.Millisecond
	DefaultRandomizationFactor = 0.5
	DefaultMultiplier          = 1.5
	DefaultMaxInterval         = 60 * time.Second
	DefaultMaxElapsedTime      = 15 * time.Minute
)

// ExponentialBackOffOpts is an option for [NewExponentialBackOff].
type ExponentialBackOffOpts func(*ExponentialBackOff)

// NewExponentialBackOff returns an [ExponentialBackOff] with the default values, changed by opts. It waits about
// 0.5 s, 0.75 s, 1.1 s and so on, up to about a minute, and gives up after 15 minutes.
func NewExponentialBackOff(opts ...ExponentialBackOffOpts) *ExponentialBackOff {
	b := &ExponentialBackOff{
		InitialInterval:     DefaultInitialInterval,
		RandomizationFactor: DefaultRandomizationFactor,
		Multiplier:          DefaultMultiplier,
		MaxInterval:         DefaultMaxInterval,
		MaxElapsedTime:      DefaultMaxElapsedTime,
		Stop:                Stop,
		Clock:               SystemClock,
	}
	for _, opt := range opts {
		opt(b)
	}
	return b
}

// Reset starts the sequence of intervals and the elapsed time over.
func (b *ExponentialBackOff) Reset() {
	b.current = 0
	b.lastWait = 0
	b.timeline = timeline{}
	b.since = b.timeline.read(b.Clock)
	b.started = true
}

// NextBackOff returns the next wait, and lets the interval grow. It returns [Stop] if the wait would end after
// MaxElapsedTime. The elapsed time starts at Reset, or here if Reset was never called.
func (b *ExponentialBackOff) NextBackOff() time.Duration {
	if !b.started {
		b.Reset()
	}

	random := rand.Uint64()
	if b.Rand != nil {
		random = b.Rand.Uint64()
	}

	longest := b.maxInterval()
	initial := min(b.initial(), longest)
	interval := b.current
	if interval != longest { // once there, it stays there
		interval = cmp.Or(b.current, initial) // above longest if MaxInterval has just been lowered, as in v4
		b.current = b.grown(interval, longest)
	}
	if b.Jitter == DecorrelatedJitter { // goes by the last wait instead
		interval = initial
		if b.lastWait != 0 {
			interval = min(b.lastWait, longest)
		}
	}

	low, width := b.Jitter.window(interval, initial, longest, b.RandomizationFactor)
	wait := low + draw(width, random)
	if b.Jitter == DecorrelatedJitter {
		wait = min(wait, longest)
		b.lastWait = wait
		width = min(width, longest-low)
	}

	asked := b.caller.asked
	if asked > low { // the window moves up to start there
		wait = asked + draw(min(width, math.MaxInt64-asked), random)
	}

	if b.MaxElapsedTime != 0 && !b.fits(wait) {
		return b.stopValue()
	}
	return wait
}

// fits reports whether wait would end by MaxElapsedTime.
func (b *ExponentialBackOff) fits(wait time.Duration) bool {
	elapsed := b.GetElapsedTime()
	return elapsed <= b.MaxElapsedTime && wait <= b.MaxElapsedTime-elapsed // elapsed+wait could overflow
}

// stopValue returns what NextBackOff returns in place of a wait that is too long. Programs written for
// cenkalti/backoff v4, HashiCorp Vault's client among them, rely on its zero: they write a literal with a Clock and
// without Stop, ask it by hand, and go on without a wait.
func (b *ExponentialBackOff) stopValue() time.Duration {
	zeroStops := b.caller.isLoop || b.Clock == nil
	if b.Stop == 0 && zeroStops {
		return Stop
	}
	return b.Stop
}

// GetElapsedTime returns the time since the loop began: since Reset, or since the first NextBackOff if Reset
// was never called. Before that it is zero.
//
// Call it from the operation or from notify, or after the loop. Another goroutine may call it beside a [Ticker],
// unless Clock steps back, but not beside [Retry], whose Reset it could meet.
func (b *ExponentialBackOff) GetElapsedTime() time.Duration {
	if !b.started {
		return 0
	}
	now := b.timeline.read(b.Clock)
	if now < b.since { // the Clock has stepped back to before the start: start over
		b.since = now
	}
	return max(0, now-b.since) // the difference may overflow
}

// grown returns the next interval, which is at most longest.
func (b *ExponentialBackOff) grown(interval, longest time.Duration) time.Duration {
	multiplier := b.multiplier()
	switch {
	case interval == 0 || multiplier <= 1:
		return min(interval, longest)
	case float64(interval) >= float64(longest)/multiplier:
		return longest
	}
	next := time.Duration(float64(interval) * multiplier)
	return max(next, interval+1) // rounded down, 1 ns × 1.5 would never grow
}

func (b *ExponentialBackOff) multiplier() float64 {
	if b.Multiplier == 0 || math.IsNaN(b.Multiplier) {
		return DefaultMultiplier
	}
	return b.Multiplier
}

func (b *ExponentialBackOff) initial() time.Duration {
	if b.InitialInterval < 0 || b.InitialInterval == 0 && b.Clock == nil {
		return DefaultInitialInterval
	}
	return b.InitialInterval
}

func (b *ExponentialBackOff) maxInterval() time.Duration {
	if b.MaxInterval <= 0 {
		return DefaultMaxInterval
	}
	return b.MaxInterval
}

// WithInitialInterval sets InitialInterval, from which the waits grow. Zero means no waits.
func WithInitialInterval(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.InitialInterval = d }
}

// WithRandomizationFactor sets RandomizationFactor, how far a wait may be from its interval.
func WithRandomizationFactor(factor float64) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.RandomizationFactor = factor }
}

// WithMultiplier sets Multiplier, by which the interval grows.
func WithMultiplier(multiplier float64) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Multiplier = multiplier }
}

// WithMaxInterval sets MaxInterval, up to which the interval grows.
func WithMaxInterval(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.MaxInterval = d }
}

// WithMaxElapsedTime sets MaxElapsedTime, the time from the start of the loop to the end of its last wait. Zero means no
// limit.
func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.MaxElapsedTime = d }
}

// WithRetryStopDuration sets Stop. It is for programs written for cenkalti/backoff v4.
func WithRetryStopDuration(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Stop = d }
}

// WithJitter sets Jitter.
func WithJitter(jitter Jitter) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Jitter = jitter }
}

// WithRand sets Rand, for waits that can be reproduced.
func WithRand(r *rand.Rand) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Rand = r }
}

// WithClockProvider sets Clock. It is for programs written for cenkalti/backoff v4, and for tests without
// testing/synctest.
func WithClockProvider(clock Clock) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Clock = clock }
}

// Jitter is how an [ExponentialBackOff] randomizes its waits. If in doubt, keep the default. The zero value is
// [ProportionalJitter], and unknown values behave like it.
//
// In the formulas, U(a, b) is a random duration between a and b, all equally likely; I is the current interval,
// B the InitialInterval, C the MaxInterval, f the RandomizationFactor, and P the previous wait, or B for the
// first one.
type Jitter uint8

const (
	// ProportionalJitter waits from half of the interval to one and a half, with the default RandomizationFactor of
	// 0.5. It alone may exceed MaxInterval. (google-http-java-client, cenkalti/backoff.)
	//
	//	U(I·(1−f), I·(1+f))
	ProportionalJitter Jitter = iota

	// NoJitter waits exactly the interval. Clients that failed together retry together.
	//
	//	I
	NoJitter

	// FullJitter waits anything between zero and the interval. (AWS Architecture Blog, "Exponential
	// Backoff And Jitter".)
	//
	//	U(0, I)
	FullJitter

	// EqualJitter waits anything between half of the interval and the interval. (AWS, as above.)
	//
	//	I/2 + U(0, I/2)
	EqualJitter

	// DecorrelatedJitter waits anything between InitialInterval and three times the previous wait, but
	// no longer than MaxInterval. It ignores Multiplier. As published, it cuts off at the cap, so that
	// many waits near the cap are equal to it. (AWS, as above.)
	//
	//	min(C, U(B, 3·P))
	DecorrelatedJitter

	// AdditiveJitter waits the interval plus a random time up to InitialInterval, but no longer than MaxInterval.
	// Clients at the cap stay spread over the last InitialInterval below it. With an InitialInterval of 1 s, a
	// Multiplier of 2 and a MaxInterval of 32 s or 64 s, it is Google Cloud's truncated exponential backoff, min(2ⁿ s
	// + up to 1 s, maximum_backoff), but for that spread.
	//
	//	min(I, C−B) + U(0, B)
	AdditiveJitter
)

var jitterNames = [...]string{
	"ProportionalJitter", "NoJitter", "FullJitter", "EqualJitter", "DecorrelatedJitter", "AdditiveJitter",
}

// String returns the name of the constant.
func (j Jitter) String() string {
	if int(j) < len(jitterNames) {
		return jitterNames[j]
	}
	return "Jitter(" + strconv.Itoa(int(j)) + ")"
}

// window returns the range of a wait, [low, low+width]. Its parameters are the letters of Jitter's
// formulas, with b at most c, and i too unless c has just been lowered; for DecorrelatedJitter i is P, and the result
// is to be cut off at c. The arithmetic cannot overflow.
func (j Jitter) window(i, b, c time.Duration, f float64) (low, width time.Duration) {
	switch j {
	case NoJitter:
		return i, 0
	case FullJitter:
		return 0, i
	case EqualJitter:
		return i / 2, i - i/2
	case DecorrelatedJitter:
		return b, max(0, 3*min(i, math.MaxInt64/3)-b)
	case AdditiveJitter:
		return min(i, c-b), b
	}
	reach := time.Duration(0) // for NaN too
	if f >= 1 {
		reach = i
	} else if f > 0 {
		reach = time.Duration(f * float64(i))
	}
	return i - reach, reach + min(reach, math.MaxInt64-i)
}

// draw returns a uniform duration in [0, width]: random/2⁶⁴ of width+1, rounded down. random is
// uniform over the numbers of its type.
func draw(width time.Duration, random uint64) time.Duration {
	drawn, _ := bits.Mul64(uint64(width)+1, random)
	return time.Duration(drawn)
}
