package grpcretry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/local"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"example.com/backoff/grpcretry"
)

// A proxy is between the tests and all hosts but the local one, since net/http reads the environment once. It answers a
// CONNECT to a host such as 407.test with that status.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.Host, ".")
		code, err := strconv.Atoi(name)
		if err != nil {
			code = http.StatusBadRequest
		}
		w.WriteHeader(code)
	}))
	os.Setenv("HTTPS_PROXY", proxy.URL)
	os.Unsetenv("NO_PROXY")
	os.Unsetenv("no_proxy")
	code := m.Run()
	proxy.Close()
	os.Exit(code)
}

// listenTCP lets serve answer the connections of a listener, and returns its address.
func listenTCP(t *testing.T, serve func(net.Listener) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go serve(listener)
	return listener.Addr().String()
}

// serveGRPC starts a gRPC server, with TLS if config is not nil, and returns its address.
func serveGRPC(t *testing.T, config *tls.Config) string {
	t.Helper()
	var options []grpc.ServerOption
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	server := grpc.NewServer(options...)
	t.Cleanup(server.Stop)
	return listenTCP(t, server.Serve)
}

// serveNames starts a name server that has one answer, a code such as 3 for a name that does not exist, and returns its
// address.
func serveNames(t *testing.T, code byte) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		message := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(message)
			if err != nil {
				return
			}
			message[2] |= 0x80 // it is an answer
			message[3] = 0x80 | code
			conn.WriteTo(message[:n], from)
		}
	}()
	return conn.LocalAddr().String()
}

// dialBy is a dialer that asks a name server.
func dialBy(names string) grpc.DialOption {
	dialer := net.Dialer{Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", names)
		},
	}}
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", address)
	})
}

// secret is a token that must not be sent without TLS.
type secret struct{}

func (secret) RequireTransportSecurity() bool { return true }
func (secret) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "secret"}, nil
}

// certificate returns a certificate of 127.0.0.1 and example.com, and what trusts it.
func certificate(t *testing.T) ([]tls.Certificate, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return server.TLS.Certificates, server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
}

// A connection that can never be made is tried once, and one that may be made later four times. The texts are gRPC's own.
func TestNeverConnects(t *testing.T) {
	own, trusted := certificate(t)
	plain := serveGRPC(t, nil)
	secure := serveGRPC(t, &tls.Config{Certificates: own})
	http1 := func(listener net.Listener) error { return http.Serve(listener, http.NotFoundHandler()) }
	secureHTTP := func(protocols ...string) string {
		return listenTCP(t, func(listener net.Listener) error {
			return http1(tls.NewListener(listener, &tls.Config{Certificates: own, NextProtos: protocols}))
		})
	}
	closing := listenTCP(t, func(listener net.Listener) error {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return err
			}
			conn.Close()
		}
	})
	unknown, down := serveNames(t, 3), serveNames(t, 2)

	empty := manual.NewBuilderWithScheme("empty")
	empty.InitialState(resolver.State{})
	roundRobin := grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`)
	withTLS := func(config *tls.Config) grpc.DialOption {
		if config.RootCAs == nil {
			config.RootCAs = trusted
		}
		return grpc.WithTransportCredentials(credentials.NewTLS(config))
	}
	const once, retried = 1, 4

	for _, test := range []struct {
		name    string
		target  string
		options []grpc.DialOption
		text    string
		want    int // attempts
	}{
		{"unknown authority", secure, []grpc.DialOption{withTLS(&tls.Config{RootCAs: x509.NewCertPool()})}, "unknown authority", once},
		{"unknown authority, round_robin", secure, []grpc.DialOption{withTLS(&tls.Config{RootCAs: x509.NewCertPool()}), roundRobin}, "unknown authority", once},
		{"another's certificate", secure, []grpc.DialOption{withTLS(new(tls.Config)), grpc.WithAuthority("other.org")}, "valid for example.com", once},
		{"expired", secure, []grpc.DialOption{withTLS(&tls.Config{Time: func() time.Time {
			return time.Now().AddDate(100, 0, 0)
		}})}, "has expired", once},
		{"not pinned", secure, []grpc.DialOption{withTLS(&tls.Config{VerifyConnection: func(s tls.ConnectionState) error {
			return fmt.Errorf("pinned: %w", s.PeerCertificates[0].VerifyHostname("other.org"))
		}})}, "failed: pinned: x509: ", once},
		{"not verified yet", secure, []grpc.DialOption{withTLS(&tls.Config{VerifyConnection: func(tls.ConnectionState) error {
			return errors.New("no revocation list yet")
		}})}, "no revocation list yet", retried},
		{"secret without TLS", plain, []grpc.DialOption{
			grpc.WithTransportCredentials(local.NewCredentials()), grpc.WithPerRPCCredentials(secret{}),
		}, "cannot send secure credentials", once},

		{"TLS to a plain server", plain, []grpc.DialOption{withTLS(new(tls.Config))}, "first record", once},
		{"TLS to plain HTTP", listenTCP(t, http1), []grpc.DialOption{withTLS(new(tls.Config))}, "first record", once},
		{"TLS without a protocol", secureHTTP(), []grpc.DialOption{withTLS(new(tls.Config))}, "missing selected ALPN", once},
		{"TLS for HTTP/1", secureHTTP("http/1.1"), []grpc.DialOption{withTLS(new(tls.Config))}, "tls: no application protocol", once},
		{"old TLS", serveGRPC(t, &tls.Config{
			Certificates: own, MaxVersion: tls.VersionTLS11,
		}), []grpc.DialOption{withTLS(new(tls.Config))}, "tls: protocol version not supported", once},
		{"no client certificate", serveGRPC(t, &tls.Config{
			Certificates: own, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12,
		}), []grpc.DialOption{withTLS(new(tls.Config))}, "remote error: tls: ", once},
		{"no certificate yet", serveGRPC(t, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return nil, errors.New("not yet")
		}}), []grpc.DialOption{withTLS(new(tls.Config))}, "tls: internal error", retried},
		{"closed in the handshake", closing, []grpc.DialOption{withTLS(new(tls.Config))}, "handshake failed", retried},

		{"plain to HTTP/1", listenTCP(t, http1), nil, "HTTP/1.1 header", once},
		{"plain to TLS", secure, nil, "", retried},
		{"closed", closing, nil, "", retried},
		{"refused", "127.0.0.1:1", nil, "dial tcp 127.0.0.1:1", retried},

		{"unknown host", "dns://" + unknown + "/orders.test", []grpc.DialOption{grpc.WithNoProxy()}, "zero addresses", once},
		{"unknown host, round_robin", "dns://" + unknown + "/orders.test", []grpc.DialOption{grpc.WithNoProxy(), roundRobin}, "no children", once},
		{"unknown host, dialed", "passthrough:///orders.test:443", []grpc.DialOption{dialBy(unknown)}, "no such host", once},
		{"name server down", "dns://" + down + "/orders.test", []grpc.DialOption{grpc.WithNoProxy()}, "lookup orders.test", retried},
		{"name server down, dialed", "passthrough:///orders.test:443", []grpc.DialOption{dialBy(down)}, "lookup orders.test", retried},
		{"no address", "empty:///localhost", []grpc.DialOption{grpc.WithResolvers(empty)}, "zero addresses", once},
		{"invalid port", "127.0.0.1:99999", nil, "invalid port", once},
		{"unknown port", "127.0.0.1:orders", []grpc.DialOption{grpc.WithNoProxy()}, "unknown port", once},
		{"no port", "passthrough:///127.0.0.1", nil, "missing port", once},

		{"proxy: 403", "403.test:443", nil, "403 Forbidden", once},
		{"proxy: 407", "407.test:443", nil, "407 Proxy", once},
		{"proxy: 503", "503.test:443", nil, "503 Service", retried},
	} {
		t.Run(test.name, func(t *testing.T) {
			attempts := 0
			o := grpcretry.Options{
				Policy: every(0),
				Done:   func(_ context.Context, _ string, n int, _ error) { attempts = n },
			}
			err := check(t.Context(), dial(t, test.target, o, test.options...))
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.ErrorContains(t, err, test.text)
			require.Equal(t, test.want, attempts, "%v", err)
		})
	}
}

// With TLS 1.3, a server refuses a client's certificate after the client's handshake. Whether the client sees the alert, or
// that its own write failed, is chance. An alert is never repeated.
func TestClientCertificate(t *testing.T) {
	own, trusted := certificate(t)
	server := serveGRPC(t, &tls.Config{Certificates: own, ClientAuth: tls.RequireAnyClientCert})
	for range 100 {
		o := grpcretry.Options{
			Policy: every(0),
			Notify: func(_ context.Context, _ string, _ int, err error, _ time.Duration) {
				require.NotContains(t, err.Error(), "remote error")
			},
		}
		creds := credentials.NewTLS(&tls.Config{RootCAs: trusted})
		err := check(t.Context(), dial(t, server, o, grpc.WithTransportCredentials(creds)))
		require.Equal(t, codes.Unavailable, status.Code(err))
		if strings.Contains(err.Error(), "remote error: tls: certificate required") {
			return
		}
	}
	t.Fatal("no alert was seen")
}
