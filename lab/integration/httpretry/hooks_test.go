package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// outcome names how an operation ended.
func outcome(attempts int, err error) string {
	switch {
	case errors.Is(err, backoff.ErrNoSlot):
		return "no_slot"
	case errors.Is(err, backoff.ErrBudgetExhausted):
		return "refused_by_budget"
	case err != nil:
		return "failed"
	case attempts > 1:
		return "succeeded_after_retry"
	}
	return "succeeded"
}

// instrument makes transport log each retry, and count its operations by outcome, and their attempts. The
// names are those of OpenTelemetry's semantic conventions; there are none for what begins with "retry".
func instrument(transport *httpretry.Transport, log *slog.Logger, meter metric.Meter) error {
	operations, err1 := meter.Int64Counter("retry.operations", metric.WithUnit("{operation}"))
	attempts, err2 := meter.Int64Counter("retry.attempts", metric.WithUnit("{attempt}"))
	transport.Notify = func(r *http.Request, attempt int, err error, wait time.Duration) {
		log.WarnContext(r.Context(), "retry", "http.request.method", r.Method, "url.path", r.URL.Path,
			"attempt", attempt, "exception.message", err, "retry.wait", wait)
	}
	transport.Done = func(r *http.Request, n int, err error) {
		operations.Add(r.Context(), 1, metric.WithAttributes(attribute.String("retry.outcome", outcome(n, err))))
		attempts.Add(r.Context(), int64(n))
	}
	return errors.Join(err1, err2)
}

// A log of retries by log/slog, and counters for OpenTelemetry.
func Example_hooks() {
	late := 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" || r.URL.Path == "/late" && late > 0 {
			late--
			w.WriteHeader(http.StatusServiceUnavailable)
		}
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
		Budget: &backoff.Budget{Capacity: 15}, // fixed and small, so that it refuses a retry
	}
	if err := instrument(transport, log, meters.Meter("example")); err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}
	for _, path := range []string{"/users", "/late", "/down", "/down"} {
		resp, err := client.Get(server.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}

	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &metrics); err != nil {
		fmt.Println(err)
		return
	}
	var lines []string
	for _, m := range metrics.ScopeMetrics[0].Metrics {
		for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
			name, _ := point.Attributes.Value("retry.outcome")
			lines = append(lines, fmt.Sprintln(m.Name, name.AsString(), point.Value, m.Unit))
		}
	}
	slices.Sort(lines)
	fmt.Print(strings.Join(lines, ""))
	// Output:
	// level=WARN msg=retry http.request.method=GET url.path=/late attempt=1 exception.message="503 Service Unavailable" retry.wait=1ms
	// level=WARN msg=retry http.request.method=GET url.path=/down attempt=1 exception.message="503 Service Unavailable" retry.wait=1ms
	// level=WARN msg=retry http.request.method=GET url.path=/down attempt=2 exception.message="503 Service Unavailable" retry.wait=1ms
	// level=WARN msg=retry http.request.method=GET url.path=/down attempt=1 exception.message="503 Service Unavailable" retry.wait=1ms
	// retry.attempts  8 {attempt}
	// retry.operations failed 1 {operation}
	// retry.operations refused_by_budget 1 {operation}
	// retry.operations succeeded 1 {operation}
	// retry.operations succeeded_after_retry 1 {operation}
}
