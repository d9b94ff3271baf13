// Package command has what the commands of the laboratory do alike.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Run has a command do what its arguments say, and returns the code that it exits with: 0 after success and for -h, 1 if
// do fails, and 2 for bad usage, of which parse has told stderr.
func Run[O any](name string, args []string, stderr io.Writer, parse func([]string, io.Writer) (O, error), do func(O) error) int {
	options, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}

	err = do(options)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// Parallel calls f for each number below n, on as many goroutines as there are processors.
func Parallel(n int, f func(int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}
