package backoff_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(1994, time.November, 6, 8, 49, 7, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"0":                                      0,
		"120":                                    2 * time.Minute,
		" \t120\t ":                              2 * time.Minute,
		"0007":                                   7 * time.Second,
		"2.0":                                    2 * time.Second,
		"0.5":                                    500 * time.Millisecond,
		" 1.5 ":                                  1500 * time.Millisecond,
		"1.1":                                    1100 * time.Millisecond,
		".5":                                     500 * time.Millisecond,
		"5.":                                     5 * time.Second,
		"0.0":                                    0,
		"0.000000001":                            1,
		"0.0000000001":                           0,
		"0.00000000100000000000000000000":        1,
		"0.00000000100000000000000000001":        1,
		"0.9999999999":                           time.Second - 1,
		"9223372036":                             9223372036 * time.Second,
		"9223372036.854775806":                   math.MaxInt64 - 1,
		"9223372036.854775807":                   math.MaxInt64,
		"9223372036.9":                           math.MaxInt64,
		"9223372037":                             math.MaxInt64,
		"9223372036854775808":                    math.MaxInt64,
		"99999999999999999999999999999999999999": math.MaxInt64,
		"99999999999999999999.9999999999":        math.MaxInt64,
		"Sun, 06 Nov 1994 08:49:37 GMT":          30 * time.Second,
		"Sunday, 06-Nov-94 08:49:37 GMT":         30 * time.Second,
		"Sun Nov  6 08:49:37 1994":               30 * time.Second,
		"Sun Nov 16 08:49:07 1994":               240 * time.Hour,
		"  Sun, 06 Nov 1994 08:49:37 GMT ":       30 * time.Second,
		"Sun, 06 Nov 1994 08:49:07 GMT":          0,
		"Sun, 06 Nov 1994 08:49:06 GMT":          0,
		"Thu, 01 Jan 1970 00:00:00 GMT":          0,
		"Fri, 31 Dec 9999 23:59:59 GMT":          math.MaxInt64,
	} {
		got, ok := backoff.ParseRetryAfter(value, now)
		require.True(t, ok, "%q", value)
		require.Equal(t, want, got, "%q", value)
	}
	for _, value := range []string{
		"", " ", "\t", "-1", "+1", "1e3", "0x10", "1 2", "12s", "soon", "1_000", "١٢",
		".", "..", "1.2.3", "1..2", "-0.5", "+.5", "1. 5", "1 .5", "1,5", "1.5s", "1.e3", "1.-5", "0x1p5", "NaN", "Inf", "infinity",
		"Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 PST", "Sunday, 06-Nov-94 08:49:37 PST",
		"1994-11-06T08:49:37Z", "Sun, 31 Feb 1994 08:49:37 GMT", "120\n", "20000000000000000000A",
	} {
		got, ok := backoff.ParseRetryAfter(value, now)
		require.False(t, ok, "%q", value)
		require.Zero(t, got, "%q", value)
	}
}

// RFC 9110, section 5.6.7: a year of two digits is the last such year not over 50 years ahead.
func TestParseRetryAfterYears(t *testing.T) {
	for name, test := range map[string]struct {
		now   time.Time
		value string
		want  time.Time // zero if it is past
	}{
		"this year":           {date(2026, 1, 1), "Friday, 02-Jan-26 00:00:00 GMT", date(2026, 1, 2)},
		"in 50 years":         {date(2026, 1, 1), "Wednesday, 01-Jan-76 00:00:00 GMT", date(2076, 1, 1)},
		"past 50 years":       {date(2026, 1, 1), "Wednesday, 02-Jan-76 00:00:00 GMT", time.Time{}},
		"last year":           {date(2026, 1, 1), "Wednesday, 01-Jan-25 00:00:00 GMT", time.Time{}},
		"the coming century":  {date(2099, 12, 31), "Friday, 01-Jan-00 00:00:00 GMT", date(2100, 1, 1)},
		"300 years from now":  {date(2326, 1, 1), "Friday, 02-Jan-26 00:00:00 GMT", date(2326, 1, 2)},
		"Go's 69 is in reach": {date(2026, 1, 1), "Tuesday, 01-Jan-69 00:00:00 GMT", date(2069, 1, 1)},
		"a leap day":          {date(2000, 2, 1), "Tuesday, 29-Feb-00 00:00:00 GMT", date(2000, 2, 29)},
		"in another zone":     {date(2026, 1, 1).In(time.FixedZone("", -3600)), "Friday, 02-Jan-26 00:00:00 GMT", date(2026, 1, 2)},
	} {
		got, ok := backoff.ParseRetryAfter(test.value, test.now)
		require.True(t, ok, name)
		require.Equal(t, max(0, test.want.Sub(test.now)), got, name)
	}
}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func TestRetryableStatus(t *testing.T) {
	want := []int{
		http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
	for code := http.StatusNetworkAuthenticationRequired + 1; code < 600; code++ { // not registered
		want = append(want, code)
	}
	var got []int
	for code := -1; code < 1000; code++ {
		if backoff.RetryableStatus(code) {
			got = append(got, code)
		}
	}
	require.Equal(t, want, got)
}
