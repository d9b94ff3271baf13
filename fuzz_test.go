package backoff

import (
	"math"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzExponentialBackOff holds, for arbitrary fields and an arbitrary clock, that a wait is never
// negative unless it stops, that it stays within its bounds, and that MaxElapsedTime stops. It also
// changes fields in mid-run, which is not meant to be done and must do no harm.
func FuzzExponentialBackOff(f *testing.F) {
	nan, inf, most, least := math.NaN(), math.Inf(1), int64(math.MaxInt64), int64(math.MinInt64)
	f.Add(int64(500e6), 0.5, 1.5, int64(60e9), int64(900e9), int64(-1), int64(1e9), int64(2e9), byte(0), byte(0))
	f.Add(int64(0), 0.0, 0.0, int64(0), int64(0), int64(0), int64(0), int64(0), byte(0), byte(5))
	f.Add(most, 1.0, inf, most, most, most, most, most, byte(1), byte(0))
	f.Add(least, -inf, -inf, least, least, least, least, least, byte(2), byte(3))
	f.Add(int64(-1), nan, nan, int64(-1), int64(-1), int64(-1), int64(-1), int64(1), byte(3), byte(2))
	f.Add(int64(1), 1e-300, 1.0000001, int64(2), int64(1), int64(5), most, least, byte(5), byte(4))
	f.Fuzz(func(t *testing.T, initial int64, factor, multiplier float64, maximum, limit, stop, step1, step2 int64, mode, jitter byte) {
		b := &ExponentialBackOff{
			InitialInterval:     time.Duration(initial),
			RandomizationFactor: factor,
			Multiplier:          multiplier,
			MaxInterval:         time.Duration(maximum),
			MaxElapsedTime:      time.Duration(limit),
			Stop:                time.Duration(stop),
			Jitter:              Jitter(jitter % 7),
		}
		clock := &walkingClock{steps: [2]int64{step1, step2}}
		if mode&1 != 0 {
			b.Clock = clock
		}
		if mode&2 != 0 {
			b.Reset()
		}
		maxInterval := b.MaxInterval
		if maxInterval <= 0 {
			maxInterval = DefaultMaxInterval
		}
		stopWait := b.Stop
		if stopWait == 0 {
			stopWait = Stop
		}
		atRest := b.Clock != nil && initial == 0
		hasFactor := b.Jitter == ProportionalJitter || b.Jitter > AdditiveJitter
		for i := range 50 {
			if i == 25 && mode&4 != 0 {
				b.MaxInterval, b.InitialInterval = time.Duration(step1), time.Duration(step2)
				maxInterval = max(maxInterval, b.MaxInterval, DefaultMaxInterval)
				atRest = false
			}
			wait := b.NextBackOff()
			if limit != 0 && wait == stopWait {
				continue
			}
			require.GreaterOrEqual(t, wait, time.Duration(0), "a wait is not negative")
			if hasFactor {
				require.LessOrEqual(t, float64(wait), 2*float64(maxInterval), "nor above the doubled MaxInterval")
			} else {
				require.LessOrEqual(t, wait, maxInterval, "nor above MaxInterval")
			}
			if limit != 0 {
				require.LessOrEqual(t, wait, b.MaxElapsedTime, "nor beyond MaxElapsedTime")
			}
			if atRest {
				require.Zero(t, wait, "waits are zero if they are meant to be")
			} else if mode&4 == 0 && (b.Jitter == NoJitter || hasFactor && !(factor > 0)) {
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

// FuzzParseRetryAfter compares with net/http's parser of dates, and holds what it says of numbers.
func FuzzParseRetryAfter(f *testing.F) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{
		"", "0", "120", " 7\t", "-1", "1.5", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 01 Mar 2026 12:00:05 GMT",
		"Sunday, 01-Mar-26 12:00:05 GMT", "Sun Mar  1 12:00:05 2026", "Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		f.Add(value, now.Unix())
	}
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		now := time.Unix(unix%(1<<40), 0).UTC()
		got, ok := ParseRetryAfter(value, now)
		require.GreaterOrEqual(t, got, time.Duration(0))
		value = strings.Trim(value, " \t")
		if number, isNumber := new(big.Int).SetString(value, 10); isNumber && !strings.ContainsAny(value, "+-_") {
			require.True(t, ok)
			want := number.Mul(number, big.NewInt(int64(time.Second)))
			if !want.IsInt64() {
				want.SetInt64(math.MaxInt64)
			}
			require.Equal(t, want.Int64(), int64(got))
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
