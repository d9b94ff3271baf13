package backoff

import (
	"math"
	"strings"
	"time"
)

// ParseRetryAfter returns the wait that the value of a Retry-After header asks for, counted from now, and reports
// whether the value is well-formed. The value is a number of seconds, or a date in any of the three forms of HTTP (RFC
// 9110, sections 10.2.3 and 5.6.7). A number consists of digits, and may have one point, as in "1.5", which some servers
// send. More seconds than a Duration can hold give the longest one. A date in the past gives zero. Pass the result to
// [RetryAfter].
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	seconds, ok := parseSeconds(value)
	if ok {
		return seconds, true
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

// parseSeconds returns the duration of which value is the number of seconds, and reports whether it is one.
func parseSeconds(value string) (time.Duration, bool) {
	digits := strings.Replace(value, ".", "", 1)
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	seconds, err := time.ParseDuration(value + "s")
	if err != nil { // they are more than a Duration can hold
		seconds = math.MaxInt64
	}
	return seconds, true
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
