package sqlretry

import (
	"context"
	"fmt"
	"runtime/debug"
)

// A driverPanic is a panic of the driver, or the end of the goroutine in which it was called. database/sql still counts
// its connection as in use.
type driverPanic struct{ text string }

func (e *driverPanic) Error() string { return e.text }

// inTime makes a call of the driver, and waits for it until ctx ends. It returns the call's error, or ctx's, and
// whether the driver has answered. Since the driver may hang, it is called in a goroutine of its own.
func inTime(ctx context.Context, call func() error) (answered bool, err error) {
	type result struct {
		answered bool
		err      error
	}
	results := make(chan result)
	gone := make(chan struct{})

	go func() {
		r := result{err: &driverPanic{"the driver ended its goroutine"}}
		defer func() {
			value := recover()
			if value != nil {
				r.err = &driverPanic{fmt.Sprintf("the driver panicked: %v\n%s", value, debug.Stack())}
			}
			select {
			case results <- r:
			case <-gone:
			}
		}()
		r.err = call()
		r.answered = true
	}()

	select {
	case r := <-results:
		return r.answered, r.err
	case <-ctx.Done():
	}

	// An answer that came at the same moment counts.
	select {
	case r := <-results:
		return r.answered, r.err
	default:
		close(gone)
		return false, ctx.Err()
	}
}
