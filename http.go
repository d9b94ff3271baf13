package backoff

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter parses the value of a Retry-After header: a number of seconds, or an HTTP date in
// any of its three forms (RFC 9110, sections 10.2.3 and 5.6.7). It returns the wait from now and
// whether the value is well-formed; negative and fractional numbers are not. A past date means 0; a wait
// too long for a Duration means 292 years. Surrounding blanks are ignored.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, _ := strconv.ParseUint(value, 10, 64) // the largest if it is larger
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second, true
	}
	const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", rfc850, time.ANSIC} {
		date, err := time.Parse(layout, value)
		if err != nil {
			continue
		}
		if layout == rfc850 { // RFC 9110: the latest such year at most 50 years ahead
			latest := now.UTC().AddDate(50, 0, 0)
			years := latest.Year() - date.Year()
			date = date.AddDate(years-(years%100+100)%100, 0, 0)
			if date.After(latest) {
				date = date.AddDate(-100, 0, 0)
			}
		}
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// RetryableStatus reports whether an HTTP status suggests trying again: 408, 429, 500, 502, 503 or 504.
// Whether the request is safe to repeat depends on its method.
func RetryableStatus(code int) bool {
	return code == 408 || code == 429 || code == 500 || code >= 502 && code <= 504
}
