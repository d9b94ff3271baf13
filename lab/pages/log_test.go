package pages_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// logTo makes the default logger of log/slog write to w until the test ends. Times have the layout, or are
// left out if that is empty.
func logTo(t *testing.T, w io.Writer, layout string) {
	t.Helper()
	handler := slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key != slog.TimeKey {
				return a
			}
			if layout == "" {
				return slog.Attr{}
			}
			return slog.String(slog.TimeKey, a.Value.Time().UTC().Format(layout))
		},
	})

	before := slog.Default()
	slog.SetDefault(slog.New(handler))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// logged returns what f logs, by lines, without the times.
func logged(t *testing.T, f func()) []string {
	t.Helper()
	var output bytes.Buffer
	logTo(t, &output, "")
	f()
	return strings.Split(strings.TrimSuffix(output.String(), "\n"), "\n")
}
