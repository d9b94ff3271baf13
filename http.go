package backoff

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter parses the value of a Retry-After header: a number of seconds, or an HTTP date in
// any of its three forms (RFC 9110, section 10.2.3, and RFC 9110, section 5.6.7). It returns the wait
// from now and whether the value is well-formed. Surrounding blanks are ignored.
//
// A past date means 0; a wait too long for a Duration, the longest one. An empty value and a negative
// or fractional number are not well-formed; the wait is 0 then. Pass the wait on with [RetryAfter].
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
	// RFC 9110: the latest matching year at most 50 years ahead.
	latest := now.UTC().AddDate(50, 0, 0)
	years := latest.Year() - date.Year()
	date = date.AddDate(years-(years%100+100)%100, 0, 0)
	if date.After(latest) {
		date = date.AddDate(-100, 0, 0)
	}
	return date, true
}

// RetryableStatus reports whether an HTTP status suggests trying again: 408 Request Timeout, 429 Too
// Many Requests, 500 Internal Server Error, 502 Bad Gateway, 503 Service Unavailable or 504 Gateway
// Timeout. Whether the request is safe to repeat depends on its method.
func RetryableStatus(code int) bool {
	switch code {
	case 408, 429, 500, 502, 503, 504:
		return true
	}
	return false
}
