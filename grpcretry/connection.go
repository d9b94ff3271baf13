package grpcretry

import (
	"regexp"
	"strconv"
	"strings"

	"example.com/backoff"
)

// neverConnects reports whether the text of a status is gRPC's for a connection that would fail again. The text is all
// that gRPC leaves of such an error. A server that speaks TLS to a client that does not is not among them: it closes the
// connection, like one that stops.
func neverConnects(text string) bool {
	switch text {
	case "name resolver error: produced zero addresses", "no children to pick from": // of pick_first, round_robin
		return true
	}

	text, failed := strings.CutPrefix(text, `connection error: desc = "`)
	if !failed {
		return false
	}
	text = strings.TrimSuffix(text, `"`)
	if reason, found := strings.CutPrefix(text, "transport: Error while dialing: "); found {
		return badAddress(reason) || proxyRefuses(reason)
	}
	if reason, found := strings.CutPrefix(text, "transport: authentication handshake failed: "); found {
		return badPeer(reason) || peerRefuses(reason)
	}
	if reason, found := strings.CutPrefix(text, "error reading server preface: "); found { // TLS 1.3 refuses a client there
		return peerRefuses(reason) || strings.HasSuffix(reason, "the frame header looked like an HTTP/1.1 header")
	}
	return text == "transport: cannot send secure credentials on an insecure connection"
}

// badAddress reports whether a dial failed by the address alone.
func badAddress(reason string) bool {
	for _, end := range []string{": no such host", ": unknown port", ": invalid port", ": missing port in address"} {
		if strings.HasSuffix(reason, end) {
			return true
		}
	}
	return false
}

var proxyAnswer = regexp.MustCompile(`^failed to do connect handshake, response: \\"HTTP/1\.[01] (\d{3}) `)

// proxyRefuses reports whether a proxy has refused to connect, with a status that does not pass.
func proxyRefuses(reason string) bool {
	answer := proxyAnswer.FindStringSubmatch(reason)
	if answer == nil {
		return false
	}
	code, err := strconv.Atoi(answer[1])
	return err == nil && !backoff.RetryableStatus(code)
}

// badPeer reports whether a handshake failed because the server's certificate is not accepted, or it speaks no TLS, or no
// HTTP/2. An error of crypto/x509 may come from a user's function, such as VerifyConnection, and have a text around it.
func badPeer(reason string) bool {
	return strings.Contains(reason, "x509: ") ||
		reason == "tls: first record does not look like a TLS handshake" ||
		strings.HasPrefix(reason, "credentials: cannot check peer: missing selected ALPN property")
}

// peerRefuses reports whether the server has ended a handshake by an alert that does not tell of a fault that passes.
func peerRefuses(reason string) bool {
	alert, found := strings.CutPrefix(reason, "remote error: tls: ")
	return found && alert != "internal error" && alert != "bad record MAC"
}
