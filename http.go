package backoff

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter returns the wait that the value of a Retry-After header asks for at the time now,
// and whether the value is well-formed: a whole number of seconds, or one of the three forms of an
// HTTP date (RFC 9110, sections 10.2.3 and 5.6.7). Blanks around it are passed over.
//
// A date that is past asks for a wait of 0. What is longer than a Duration can be is cut off there.
// For a value that is not well-formed, an empty, negative or fractional one among them, the result
// is 0 and false. Pass the wait on with [RetryAfter].
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > math.MaxInt64/int64(time.Second) {
			return math.MaxInt64, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	date, ok := parseHTTPDate(value, now)
	if !ok {
		return 0, false
	}
	return max(0, date.Sub(now)), true
}

func parseHTTPDate(value string, now time.Time) (time.Time, bool) {
	const (
		imfFixdate = "Mon, 02 Jan 2006 15:04:05 GMT"
		rfc850     = "Monday, 02-Jan-06 15:04:05 GMT"
	)
	for _, layout := range []string{imfFixdate, time.ANSIC} {
		if date, err := time.Parse(layout, value); err == nil {
			return date, true
		}
	}
	date, err := time.Parse(rfc850, value)
	if err != nil {
		return date, false
	}
	// Of the years that end in the two digits, RFC 9110 wants the last one that is not more than
	// 50 years ahead.
	latest := now.UTC().AddDate(50, 0, 0)
	years := latest.Year() - date.Year()
	date = date.AddDate(years-(years%100+100)%100, 0, 0)
	if date.After(latest) {
		date = date.AddDate(-100, 0, 0)
	}
	return date, true
}

// RetryableStatus reports whether a request that was answered with the HTTP status code is worth
// trying again, as far as the code can tell: true for 408 Request Timeout, 429 Too Many Requests,
// 500 Internal Server Error, 502 Bad Gateway, 503 Service Unavailable and 504 Gateway Timeout.
// Whether the request may be repeated at all is another question, that of its method.
func RetryableStatus(code int) bool {
	switch code {
	case 408, 429, 500, 502, 503, 504:
		return true
	}
	return false
}
