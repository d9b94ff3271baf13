package backoff_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// FuzzExponentialBackOff holds, for arbitrary fields, an arbitrary clock and servers that ask for
// arbitrary waits, that a wait is never negative unless it stops, that it stays within its bounds and
// is not shorter than a server asks for, and that MaxElapsedTime stops. It also changes fields in
// mid-run, which is not meant to be done and must do no harm.
func FuzzExponentialBackOff(f *testing.F) {
	nan, inf, most, least := math.NaN(), math.Inf(1), int64(math.MaxInt64), int64(math.MinInt64)
	f.Add(int64(500e6), 0.5, 1.5, int64(60e9), int64(900e9), int64(-1), int64(1e9), int64(2e9), int64(3e9), byte(0), byte(0))
	f.Add(int64(0), 0.0, 0.0, int64(0), int64(0), int64(0), int64(0), int64(0), int64(1), byte(0), byte(5))
	f.Add(most, 1.0, inf, most, most, most, most, most, most, byte(1), byte(0))
	for jitter := range len(jitters) + 1 { // where a formula would overflow
		for _, large := range []int64{most, most - 1, most / 2, most / 3, most / 5} {
			f.Add(large, 0.5, 1.5, large, int64(0), int64(-1), int64(1), int64(1), int64(0), byte(0), byte(jitter))
			f.Add(large, 1.0, inf, large, int64(0), int64(-1), int64(1), int64(1), large, byte(8), byte(jitter))
		}
	}
	f.Add(least, -inf, -inf, least, least, least, least, least, least, byte(2), byte(3))
	f.Add(int64(-1), nan, nan, int64(-1), int64(-1), int64(-1), int64(-1), int64(1), most-1, byte(3), byte(2))
	f.Add(int64(1), 1e-300, 1.0000001, int64(2), int64(1), int64(5), most, least, int64(2), byte(5), byte(4))
	f.Add(int64(1), 0.5, 1.5, int64(2), int64(0), int64(-1), int64(3<<61), int64(3<<61), int64(0), byte(1), byte(0)) // an elapsed time that overflows
	f.Add(int64(0), 0.5, 2.0, int64(1e9), int64(60e9), int64(0), int64(1), int64(1e9), int64(5e8), byte(9), byte(1))
	f.Fuzz(func(t *testing.T, initial int64, factor, multiplier float64, maximum, limit, stop, step1, step2, server int64, mode, jitter byte) {
		b := &backoff.ExponentialBackOff{
			InitialInterval:     time.Duration(initial),
			RandomizationFactor: factor,
			Multiplier:          multiplier,
			MaxInterval:         time.Duration(maximum),
			MaxElapsedTime:      time.Duration(limit),
			Stop:                time.Duration(stop),
			Jitter:              backoff.Jitter(jitter) % backoff.Jitter(len(jitters)+1),
		}
		if mode&1 != 0 {
			b.Clock = &walkingClock{steps: [2]int64{step1, step2}}
		}
		if mode&2 != 0 {
			b.Reset()
		}
		maxInterval := b.MaxInterval
		if maxInterval <= 0 {
			maxInterval = backoff.DefaultMaxInterval
		}
		atRest := b.Clock != nil && initial == 0
		hasFactor := b.Jitter == backoff.ProportionalJitter || int(b.Jitter) == len(jitters)
		// check requires what holds for each wait, other than one that stands for a stop, or comes
		// after it.
		check := func(wait, floor time.Duration) {
			require.GreaterOrEqual(t, wait, max(0, floor), "a wait is not negative, nor shorter than asked for")
			bound := float64(maxInterval)
			if hasFactor {
				bound *= 2
			}
			require.LessOrEqual(t, float64(wait), bound+float64(max(0, floor)), "nor above the bound")
			if limit != 0 {
				require.LessOrEqual(t, wait, b.MaxElapsedTime, "nor beyond MaxElapsedTime")
			}
		}
		if mode&8 != 0 {
			// In a loop, whose Timer takes no time.
			timer, calls := new(instantTimer), 0
			err := backoff.RetryNotifyWithTimer(func() error {
				if calls++; calls > 30 {
					return nil
				}
				return backoff.RetryAfter(errFailed, time.Duration(server))
			}, foreign{b}, nil, timer)
			require.Len(t, timer.started, calls-1)
			require.Equal(t, calls <= 30, err != nil)
			for _, wait := range timer.started {
				if limit != 0 && stop > 0 && wait == max(b.Stop, time.Duration(server)) {
					continue
				}
				check(wait, time.Duration(server))
				if atRest {
					require.Equal(t, max(0, time.Duration(server)), wait)
				}
			}
			return
		}
		stopWait := b.Stop
		if stopWait == 0 && b.Clock == nil {
			stopWait = backoff.Stop
		}
		for i := range 50 {
			if i == 25 && mode&4 != 0 {
				b.MaxInterval, b.InitialInterval = time.Duration(step1), time.Duration(step2)
				maxInterval = max(maxInterval, b.MaxInterval, backoff.DefaultMaxInterval)
				atRest = false
			}
			wait := b.NextBackOff()
			if limit != 0 && wait == stopWait {
				continue
			}
			check(wait, 0)
			if atRest {
				require.Zero(t, wait, "waits are zero if they are meant to be")
			} else if mode&4 == 0 && (b.Jitter == backoff.NoJitter || hasFactor && !(factor > 0)) {
				require.Positive(t, wait, "and only then")
			}
			require.GreaterOrEqual(t, b.GetElapsedTime(), time.Duration(0))
		}
	})
}

// walkingClock moves by each of its steps in turn, and wraps round where they carry it too far.
type walkingClock struct {
	steps [2]int64
	calls int
	now   int64
}

func (c *walkingClock) Now() time.Time {
	c.now += c.steps[c.calls%2]
	c.calls++
	return time.Unix(0, c.now)
}

// FuzzParseRetryAfter compares with net/http's parser of dates, and with math/big's of numbers.
func FuzzParseRetryAfter(f *testing.F) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{
		"", "0", "120", " 7\t", "-1", "1.5", ".5", "5.", "0.0000000001", "9223372036.9", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 01 Mar 2026 12:00:05 GMT",
		"Sunday, 01-Mar-26 12:00:05 GMT", "Sun Mar  1 12:00:05 2026", "Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		f.Add(value, now.Unix())
	}
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		now := time.Unix(unix%(1<<40), 0).UTC()
		got, ok := backoff.ParseRetryAfter(value, now)
		require.GreaterOrEqual(t, got, time.Duration(0))
		value = strings.Trim(value, " \t")
		if strings.Trim(value, ".0123456789") == "" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.Equal(t, err == nil || errors.Is(err, strconv.ErrRange), ok, "%q", value)
			if ok {
				nanoseconds := min(seconds*1e9, math.MaxInt64)
				require.InDelta(t, nanoseconds, float64(got), 1+1e-12*nanoseconds, "%q", value)
			}
			return
		}
		want, err := http.ParseTime(value)
		if err == nil && strings.Contains(value, "-") {
			// The form with two digits for the year. net/http takes any letters for a time zone, and
			// the years from 1969 to 2068; the year meant depends on now.
			require.Equal(t, strings.HasSuffix(value, " GMT"), ok)
			if ok && got > 0 {
				when := now.Add(got)
				require.Equal(t, want.Year()%100, when.Year()%100)
				require.False(t, when.After(now.AddDate(50, 0, 0)))
			}
			return
		}
		require.Equal(t, err == nil, ok, "%q", value)
		if ok {
			require.Equal(t, max(0, want.Sub(now)), got)
		}
	})
}

// FuzzErrorTree runs a loop over an arbitrary tree of errors. If the tree has a mark, the result has
// the same text, and matches everything that the tree does but the marks; no mark can be found in it,
// and it does not stop an outer loop. To search it costs no more than to search
// the tree.
func FuzzErrorTree(f *testing.F) {
	for kind := range byte(22) {
		f.Add([]byte{0, kind, 0, 4, 0, 1, 0, kind, 1, 4, 0, 1, 0})
	}
	f.Add([]byte{0, 4, 0, 1, 0, 4, 0, 1, 0, 11, 0, 4, 0, 1, 0, 11, 0})
	f.Add([]byte{0, 4, 0, 3, 0, 3, 0, 3, 0, 3, 0, 4, 0})
	f.Add([]byte{0, 5, 0, 17, 0, 6, 0, 9, 2, 3, 1, 8, 0, 2, 3, 2, 4})
	f.Fuzz(func(t *testing.T, program []byte) {
		visits := 0
		nodes, sizes := plant(program, &visits)
		root, size := nodes[len(nodes)-1], sizes[len(nodes)-1]

		visits = 0
		calls := 0
		loop := func() error {
			return backoff.Retry(func() error { calls++; return root }, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 1))
		}
		result := loop()
		require.Error(t, result)
		require.LessOrEqual(t, visits, 50*size, "the loop's own search is linear")
		if !errors.As(root, new(*backoff.PermanentError)) {
			require.Equal(t, 2, calls)
			requireSame(t, root, result)
			return
		}
		require.Equal(t, 1, calls)
		require.Equal(t, root.Error(), result.Error())
		requireUnmarked(t, result)

		_ = backoff.Retry(loop, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2))
		require.Equal(t, 4, calls, "the outer loop goes on")

		visits = 0
		require.False(t, errors.Is(result, io.ErrNoProgress))
		require.LessOrEqual(t, visits, 10*size, "a search is linear")

		shifts := false
		for _, node := range nodes {
			if _, ok := node.(*shapeshifter); ok {
				shifts = true
			}
		}
		for _, node := range nodes {
			if mark, ok := node.(*backoff.PermanentError); ok && mark.Unwrap() != nil {
				node = mark.Unwrap()
			}
			if _, mark := node.(*backoff.PermanentError); mark {
				continue
			}
			if errors.Is(root, node) {
				require.True(t, errors.Is(result, node), "%T is lost", node)
			} else if !shifts {
				require.False(t, errors.Is(result, node), "%T is not in the tree", node)
			}
		}
		requireFound[*code](t, root, result, shifts)
		requireFound[*kind](t, root, result, shifts)
		requireFound[uncomparable](t, root, result, shifts)
		requireFound[multi](t, root, result, shifts)
		requireFound[*shapeshifter](t, root, result, true)
		requireFound[*backoff.RetryAfterError](t, root, result, shifts)
		requireFound[*visitor](t, root, result, shifts)
		requireFound[interface{ Timeout() bool }](t, root, result, shifts)
	})
}

func requireSame(t *testing.T, want, got error) {
	t.Helper()
	if reflect.TypeOf(want).Comparable() {
		require.True(t, want == got)
		return
	}
	require.Equal(t, want, got)
}

// requireFound requires that errors.As finds the same T in result as in root. Where root may hide one,
// what is found in result alone does not count.
func requireFound[T any](t *testing.T, root, result error, hidden bool) {
	t.Helper()
	var want, got T
	switch found := errors.As(root, &want); {
	case found:
		require.True(t, errors.As(result, &got), "%T", want)
		require.Equal(t, want, got)
	case !hidden:
		require.False(t, errors.As(result, &got), "%T", want)
	}
}

// plant builds a tree of errors from bytes. Each node is made by one byte for its kind and one or two
// for the nodes that it wraps, so that nodes may be shared. It returns the nodes, the root last, and
// how large each is if what is shared is counted each time. No tree is larger than 500.
func plant(program []byte, visits *int) (nodes []error, sizes []int) {
	add := func(err error, size int) {
		nodes, sizes = append(nodes, err), append(sizes, size)
	}
	add(errors.New("seed"), 1)
	next := func() byte {
		if len(program) == 0 {
			return 0
		}
		b := program[0]
		program = program[1:]
		return b
	}
	pick := func() int { return len(nodes) - 1 - int(next())%len(nodes) }
	stop := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 0)
	for len(program) > 0 && len(nodes) < 100 {
		kindOf := next() % 22
		n := len(nodes)
		i := pick()
		x, size := nodes[i], sizes[i]+1
		if size > 500 {
			continue
		}
		switch kindOf {
		case 0:
			add(fmt.Errorf("leaf %d", n), 1)
		case 1:
			add(fmt.Errorf("%d: %w", n, x), size)
		case 2, 3:
			i := pick()
			y, more := nodes[i], sizes[i]
			if size+more > 500 {
				continue
			}
			if kindOf == 2 {
				add(fmt.Errorf("%d: %w and %w", n, x, y), size+more)
			} else {
				add(errors.Join(x, nil, y), size+more)
			}
		case 4:
			add(backoff.Permanent(x), size)
		case 5:
			add(&backoff.PermanentError{Err: backoff.Permanent(x)}, size+1)
		case 6:
			add(&backoff.PermanentError{}, 1)
		case 7:
			add(backoff.RetryAfter(x, time.Duration(n%2)), size)
		case 8:
			add(uncomparable{[]string{fmt.Sprint(n)}}, 1)
		case 9:
			add(&shapeshifter{x}, size)
		case 10:
			add(&kind{fmt.Sprint("kind ", n)}, 1)
		case 11:
			add(backoff.Retry(func() error { return x }, stop), size+1)
		case 12:
			add(backoff.Retry(func() error { return x }, backoff.WithContext(stop, cancelled())), size+3)
		case 13:
			add((*backoff.PermanentError)(nil), 1)
		case 14:
			add(multi{nil, x}, size)
		case 15:
			add(&code{n}, 1)
		case 16:
			add(unpaid(func() error { return x }, nil), size+1)
		case 17:
			add(&visitor{x, visits}, size)
		case 18:
			add(&slowly{x}, size)
		case 19:
			add(hollow{}, 1)
		case 20:
			add(&alias{x, nodes[0]}, size)
		case 21:
			add((*backoff.RetryAfterError)(nil), 1)
		}
	}
	return nodes, sizes
}
