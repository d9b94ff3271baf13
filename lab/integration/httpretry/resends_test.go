package httpretry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// resends is the key of a *int in a request's context: how often the request has been sent.
type resends struct{}

// spans is a base that makes a span of each attempt.
type spans struct{ tracer trace.Tracer }

func (s spans) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, span := s.tracer.Start(req.Context(), req.Method, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()

	if sent, ok := ctx.Value(resends{}).(*int); ok {
		if *sent > 0 { // the first time is no resend
			span.SetAttributes(attribute.Int("http.request.resend_count", *sent))
		}
		*sent++
	}
	return http.DefaultTransport.RoundTrip(req.WithContext(ctx))
}

// A span for each attempt, with http.request.resend_count. Redirects count, too, as they should.
func Example_resendCount() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch requests {
		case 1:
			http.Redirect(w, r, "/new", http.StatusFound)
		case 2, 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()

	exporter := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(exporter)).Tracer("example")
	client := &http.Client{Transport: &httpretry.Transport{
		Base:  spans{tracer},
		Slots: new(backoff.Slots), // fewer requests at once while many time out
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 4)
		},
	}}

	ctx := context.WithValue(context.Background(), resends{}, new(int))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()

	for _, span := range exporter.GetSpans() {
		fmt.Print(span.Name)
		for _, a := range span.Attributes {
			fmt.Print(" ", a.Key, "=", a.Value.AsInt64())
		}
		fmt.Println()
	}
	// Output:
	// GET
	// GET http.request.resend_count=1
	// GET http.request.resend_count=2
	// GET http.request.resend_count=3
}
