package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.com/backoff"
	"example.com/backoff/recipes/httpretry"
)

// instrument makes transport log each retry, and count its attempts, its retries, and the retries
// that its budget refused.
func instrument(transport *httpretry.Transport, log *slog.Logger, meter metric.Meter) error {
	attempts, err1 := meter.Int64Counter("http.client.attempts")
	retries, err2 := meter.Int64Counter("http.client.retries")
	refusals, err3 := meter.Int64Counter("http.client.retries.refused")
	transport.Notify = func(r *http.Request, err error, wait time.Duration) {
		log.WarnContext(r.Context(), "retry", "method", r.Method, "path", r.URL.Path, "error", err, "wait", wait)
	}
	transport.Done = func(r *http.Request, n int, err error) {
		attempts.Add(r.Context(), int64(n))
		retries.Add(r.Context(), int64(n-1))
		if errors.Is(err, backoff.ErrBudgetExhausted) {
			refusals.Add(r.Context(), 1)
		}
	}
	return errors.Join(err1, err2, err3)
}

// A log of retries by log/slog, and counters for OpenTelemetry.
func Example_hooks() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // so that the output is the same each time
			}
			return a
		},
	}))
	reader := sdk.NewManualReader()
	meters := sdk.NewMeterProvider(sdk.WithReader(reader))
	transport := &httpretry.Transport{
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 2)
		},
		Budget: &backoff.Budget{Capacity: 15, RetryCost: 5}, // three retries
	}
	if err := instrument(transport, log, meters.Meter("example")); err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}
	for range 2 {
		if response, err := client.Get(server.URL + "/users"); err == nil {
			response.Body.Close()
		}
	}

	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &metrics); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range metrics.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, m.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
	}
	// Output:
	// level=WARN msg=retry method=GET path=/users error="503 Service Unavailable" wait=1ms
	// level=WARN msg=retry method=GET path=/users error="503 Service Unavailable" wait=1ms
	// level=WARN msg=retry method=GET path=/users error="503 Service Unavailable" wait=1ms
	// http.client.attempts 5
	// http.client.retries 3
	// http.client.retries.refused 1
}
