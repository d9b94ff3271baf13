package httpretry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/backoff"
)

// Retryable is the default of [Transport.Retryable]. It reports whether an idempotent request should be sent again after
// resp, or after err if resp is nil, as the package comment says.
func Retryable(resp *http.Response, err error) bool {
	if resp == nil {
		return !permanent(err) && !invalidRequest(err)
	}
	switch resp.Header.Get("X-Should-Retry") {
	case "true":
		return resp.StatusCode >= 400
	case "false":
		return false
	}
	return backoff.RetryableStatus(resp.StatusCode) || inProgress(resp)
}

// inProgress reports whether resp may tell of an earlier attempt with the same key, on which the server still works.
func inProgress(resp *http.Response) bool {
	h := historyOf(resp)
	return resp.StatusCode == http.StatusConflict && h.keyed && h.attempts > 1
}

// resendable reports whether req can be sent again at all.
func resendable(req *http.Request) bool {
	rewindable := !hasBody(req) || req.GetBody != nil
	return rewindable && req.URL != nil && req.Header.Get("Upgrade") == ""
}

// idempotent reports whether sending req twice does no more harm than sending it once.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return hasKey(req)
}

// keyNames are the names of the headers with a key.
var keyNames = []string{"Idempotency-Key", "X-Idempotency-Key"}

// hasKey reports whether the header of req has a key. As for net/http, an empty list of values is a mark that is
// not sent.
func hasKey(req *http.Request) bool {
	for _, name := range keyNames {
		values, ok := req.Header[name]
		if ok && !emptyKey(values) {
			return true
		}
	}
	return false
}

// emptyKey reports whether the values of a header would be sent, and are no key: the first is empty, or of blanks, which
// net/http sends as an empty one.
func emptyKey(values []string) bool {
	return len(values) > 0 && textproto.TrimString(values[0]) == ""
}

// deleteEmptyKeys deletes the empty keys. net/http takes them for keys, and sends a POST again by itself if a connection
// that it has kept ends without an answer.
func deleteEmptyKeys(header http.Header) {
	for _, name := range keyNames {
		if emptyKey(header[name]) {
			delete(header, name)
		}
	}
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// dialFailed reports whether err says that no connection could be made, to the server or to its proxy.
func dialFailed(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && (operation.Op == "dial" || operation.Op == "proxyconnect")
}

// permanent reports whether the next attempt would fail with err, too.
func permanent(err error) bool {
	var name *net.DNSError
	var connect *connectError
	refusal := alert(err)
	switch {
	case errors.As(err, &connect):
		return !backoff.RetryableStatus(connect.status)
	case badCertificate(err):
		return true
	case refusal != nil:
		return !temporary(refusal)
	case errors.As(err, &name) && name.IsNotFound:
		return true
	case errors.As(err, new(*net.AddrError)): // an invalid port
		return true
	}
	return plainHTTP(err) || refused(err)
}

// badCertificate reports whether the other side's certificate is not accepted. crypto/tls wraps its own verdict, but not
// that of a user's function, such as VerifyConnection, which often is one of crypto/x509's.
func badCertificate(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) ||
		errors.As(err, new(x509.CertificateInvalidError))
}

// plainHTTP reports whether the other side has answered a TLS handshake in plain HTTP. Of the two errors that say so,
// a Transport returns the first. An http.Client makes the second of it.
func plainHTTP(err error) bool {
	var record tls.RecordHeaderError
	if errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" {
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch)
}

// refused reports whether err says that a proxy or an OAuth server refuses to serve the client. These errors have
// no type, or none of the standard library's. That of an HTTP proxy is the text of its status: if Base is not net/http's
// own, a 403 or 407 is known by its usual text alone.
func refused(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		switch text {
		case http.StatusText(http.StatusForbidden), http.StatusText(http.StatusProxyAuthRequired),
			"username/password authentication failed", // a SOCKS proxy's, as the next two
			"no acceptable authentication methods",
			"unknown error connection not allowed by ruleset":
			return true
		}
		if noToken.MatchString(text) {
			return true
		}
	}
	return false
}

// noToken matches the errors of golang.org/x/oauth2 after which no token will come: those with a code of RFC 6749,
// but for server_error and temporarily_unavailable, and that of a token that cannot be renewed. If the package has not
// understood the server's answer, the code is in the JSON that follows.
var noToken = regexp.MustCompile(`^oauth2: (?:"|cannot fetch token: (?s:.*)"error"\s*:\s*")(?:` +
	`invalid_request|invalid_client|invalid_grant|invalid_scope|unauthorized_client|access_denied|` +
	`unsupported_grant_type|unsupported_response_type)"` +
	`|^oauth2: token expired and refresh token is not set$`)

// alert returns the TLS alert with which the other side has ended a handshake, or nil. If that side is a proxy, its
// OpError is within another one, with Op "proxyconnect".
func alert(err error) error {
	var operation *net.OpError
	for errors.As(err, &operation) {
		if operation.Op == "remote error" {
			return operation.Err
		}
		err = operation.Err
	}
	return nil
}

// temporary reports whether a TLS alert tells of a fault that passes, in the server or on the way.
func temporary(alert error) bool {
	text := alert.Error()
	return text == "tls: internal error" || text == "tls: bad record MAC"
}

// invalidRequests are the beginnings of the errors with which net/http refuses to send a request. These
// errors have no type. To check the request instead would miss what Base adds to it, such as a token that
// ends in a newline.
var invalidRequests = []string{
	"net/http: invalid ", // header, trailer or method
	"net/http: can't write control character in Request.URL",
	"unsupported protocol scheme ",
	"http: nil Request.Header",
	"http: no Host in request URL",
	"http: invalid ",               // host, and what an http.ClientConn refuses
	"http: Request.ContentLength=", // without a body
	"http: ContentLength=",         // with a body of another length
	"invalid Trailer key ",
	"invalid request :path ",
	"http2: invalid ",
	"http2: request body larger than specified content length",
	"http2: request header list larger than peer's advertised limit",
}

// invalidRequest reports whether err says that net/http refuses to send the request, whatever the server does.
func invalidRequest(err error) bool {
	for err != nil {
		text := err.Error()
		for _, beginning := range invalidRequests {
			if strings.HasPrefix(text, beginning) {
				return true
			}
		}
		err = errors.Unwrap(err)
	}
	return false
}

// retryAfter returns the wait that a response's header asks for, or 0.
func retryAfter(header http.Header) time.Duration {
	if wait := milliseconds(header.Get("Retry-After-Ms")); wait > 0 {
		return wait
	}
	date, _ := http.ParseTime(header.Get("Date")) // a date in Retry-After is by the server's clock, too
	wait, _ := backoff.ParseRetryAfter(header.Get("Retry-After"), cmp.Or(date, time.Now()))
	return wait
}

// milliseconds returns the duration of which value is the number of milliseconds, or 0 if it is none above zero.
func milliseconds(value string) time.Duration {
	if strings.Trim(value, "0123456789.eE+-") != "" {
		return 0 // ParseFloat knows more than decimal numbers, such as "infinity"
	}
	n, _ := strconv.ParseFloat(value, 64) // +Inf if out of range
	if n > 0 {
		return time.Duration(min(n*float64(time.Millisecond), 1<<62))
	}
	return 0
}

// statusError returns an error with the status of resp.
func statusError(resp *http.Response) error {
	if resp.Status != "" {
		return errors.New(resp.Status)
	}
	return fmt.Errorf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}
