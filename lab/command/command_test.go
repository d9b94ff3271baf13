package command

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	failed := errors.New("failed")
	for _, row := range []struct {
		parsed, done error
		want         int
		said         string
	}{
		{nil, nil, 0, ""},
		{flag.ErrHelp, failed, 0, ""},
		{failed, nil, 2, ""},
		{nil, failed, 1, "name: failed\n"},
	} {
		var stderr bytes.Buffer
		parse := func(args []string, _ io.Writer) (int, error) { return len(args), row.parsed }
		got := Run("name", []string{"a", "b"}, &stderr, parse, func(n int) error {
			require.Equal(t, 2, n)
			require.NoError(t, row.parsed)
			return row.done
		})
		require.Equal(t, row.want, got)
		require.Equal(t, row.said, stderr.String())
	}
}

func TestParallel(t *testing.T) {
	var calls [100]atomic.Int64
	Parallel(len(calls), func(i int) { calls[i].Add(1) })
	for i := range calls {
		require.EqualValues(t, 1, calls[i].Load(), i)
	}
	Parallel(0, func(int) { t.Error("called") })
}
