package backoff

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter returns the wait that the value of a Retry-After header asks for, counted from now, and reports
// whether the value is well-formed. The value is a number of seconds, or a date in any of the three forms of HTTP (RFC
// 9110, sections 10.2.3 and 5.6.7). A date in the past gives zero. More seconds than a Duration can hold give as many
// as it can. A negative or fractional number is not well-formed. Pass the result to [RetryAfter].
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
		if layout == rfc850 { // RFC 9110: at most 50 years ahead
			date = latestYear(date, now.UTC().AddDate(50, 0, 0))
		}
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// latestYear returns date, whose year has two digits, in the latest such year that is not after latest.
func latestYear(date, latest time.Time) time.Time {
	centuries := (latest.Year()-date.Year())/100 + 1
	for date.AddDate(100*centuries, 0, 0).After(latest) {
		centuries--
	}
	return date.AddDate(100*centuries, 0, 0)
}

// RetryableStatus reports whether a response with this HTTP status suggests trying again later: 408, 429, 500,
// 502, 503, 504, and all from 512 to 599, which are not registered and so mean what 500 does (RFC 9110,
// section 15). Whether the request is safe to repeat depends on its method.
func RetryableStatus(code int) bool {
	switch code {
	case 408, 429, 500, 502, 503, 504:
		return true
	}
	return code >= 512 && code <= 599
}
