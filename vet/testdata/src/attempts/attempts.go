package attempts

import (
	"context"
	"fmt"

	"example.com/backoff"
)

func shadowed(ctx context.Context, b backoff.BackOff) (n int, err error) {
	for range backoff.Attempts(b, &err) { // want `this body never sets err: Attempts panics at the end of its first pass \[attempts\]`
		n, err := fetch(ctx)
		if err == nil {
			return n, nil
		}
	}
	return n, err
}

func inCondition(ctx context.Context, b backoff.BackOff) error {
	var err error
	for range backoff.Attempts(b, (&err)) { // want `never sets err`
		if _, err := fetch(ctx); err == nil {
			break
		}
	}
	return err
}

func none(ctx context.Context, b backoff.BackOff) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("none: %w", err)
		}
	}()
	if _, err = fetch(ctx); err == nil {
		return nil
	}
	for attempt := range backoff.Attempts(b, &err) {
		_, _ = fetch(ctx)
		_ = attempt
	}
	return err
}

func another(ctx context.Context, b backoff.BackOff) error {
	var err, last error
	for range backoff.Attempts(b, &err) {
		_, err = fetch(ctx)
	}
	seq := backoff.Attempts(b, &err)
	for range seq { // a variable is not followed
		_, last = fetch(ctx)
	}
	for range backoff.Attempts(b, &err) {
		_, last = fetch(ctx)
	}
	return last
}

func set(ctx context.Context, b backoff.BackOff, all map[string]error, results chan error) (n int, err error) {
	for range backoff.Attempts(b, &err) {
		n, err = fetch(ctx)
	}
	for range backoff.Attempts(b, &err) {
		if n, err = fetch(ctx); err == nil {
			return n, nil
		}
	}
	for range backoff.Attempts(b, &err) {
		for _, err = range all {
		}
	}
	for range backoff.Attempts(b, &err) {
		select {
		case err = <-results:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	for range backoff.Attempts(b, &err) {
		for range backoff.Attempts(b, &err) {
			err = store(n)
		}
	}
	return n, err
}

func inner(ctx context.Context, b backoff.BackOff) (err error) {
	for range backoff.Attempts(b, &err) {
		func() { _, err = fetch(ctx) }()
	}
	return err
}

// A closure, a pointer and a helper that has one set it too.
func byClosure(ctx context.Context, b backoff.BackOff) error {
	var err error
	try := func() { _, err = fetch(ctx) }
	for range backoff.Attempts(b, &err) {
		try()
	}
	return err
}

func byPointer(ctx context.Context, b backoff.BackOff) error {
	var err error
	p := &err
	for range backoff.Attempts(b, &err) {
		_, *p = fetch(ctx)
	}
	return err
}

func byHelper(ctx context.Context, b backoff.BackOff) (err error) {
	for range backoff.Attempts(b, &err) {
		fetchInto(ctx, &err)
	}
	return err
}

func fetchInto(ctx context.Context, err *error) { _, *err = fetch(ctx) }

type client struct{ err error }

func (c *client) try(ctx context.Context) { _, c.err = fetch(ctx) }

func (c *client) run(ctx context.Context, b backoff.BackOff) error {
	for range backoff.Attempts(b, &c.err) {
		c.try(ctx)
	}
	return c.err
}

func structure(ctx context.Context, b backoff.BackOff) error {
	var result struct {
		n   int
		err error
	}
	for range backoff.Attempts(b, &result.err) {
		n, err := fetch(ctx)
		result = struct {
			n   int
			err error
		}{n, err}
	}
	return result.err
}

var last error

func try(ctx context.Context) { _, last = fetch(ctx) }

func variable(ctx context.Context, b backoff.BackOff) error {
	for range backoff.Attempts(b, &last) {
		try(ctx)
	}
	return last
}

// Where the address leads is not shown.
func given(ctx context.Context, b backoff.BackOff, err *error) {
	for range backoff.Attempts(b, err) {
		_, *err = fetch(ctx)
	}
}

func inLiteral(ctx context.Context, b backoff.BackOff) func() error {
	var err error
	return func() error {
		for range backoff.Attempts(b, &err) {
			_, err := fetch(ctx)
			_ = err
		}
		return err
	}
}

func fetch(ctx context.Context) (int, error) { return 0, nil }
func store(n int) error                      { return nil }
