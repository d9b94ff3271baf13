// Package success marks errors that are nil.
package success

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
	v5 "github.com/cenkalti/backoff/v5"
)

func status(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusNotFound {
		return own.Permanent(err) // want `err is nil here, and Permanent\(nil\) means success: make an error \[nil\]`
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return own.RetryAfter(err, time.Second) // want `err is nil here, and RetryAfter\(nil\) means success`
	}
	if resp.StatusCode >= 400 {
		return backoff.Permanent(fmt.Errorf("status %d", resp.StatusCode))
	}
	return nil
}

func values(url string) (int, error) {
	resp, err := http.Get(url)
	if err != nil || resp == nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return 0, v5.Permanent(err) // want `err is nil here`
	}
	return resp.StatusCode, v5.RetryAfter(3)
}

func branches(url string) error {
	resp, err := http.Get(url)
	if err == nil && resp.StatusCode == 404 {
		return own.Permanent(err) // want `err is nil here`
	}
	if err != nil {
		return own.Permanent(err)
	} else if resp.StatusCode == 404 {
		return own.Permanent(err) // want `err is nil here`
	}

	switch {
	case err != nil:
		return own.Permanent(err)
	case resp.StatusCode == 404:
		return own.Permanent(err) // want `err is nil here`
	}
	switch {
	case err == nil:
		return own.Permanent(err) // want `err is nil here`
	case resp.StatusCode == 404:
		return own.Permanent(err)
	}
	return nil
}

func loop(urls []string) error {
	for _, url := range urls {
		resp, err := http.Get(url)
		if err != nil {
			continue
		}
		for range 3 {
			if resp.StatusCode == 404 {
				return own.Permanent(err) // want `err is nil here`
			}
		}
	}
	panicked := errors.New("a")
	if panicked != nil {
		panic(panicked)
	}
	return own.Permanent(panicked) // want `panicked is nil here`
}

// The error is set, or may be.
func set(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	if resp.StatusCode == 404 {
		err = errors.New("not found")
		return own.Permanent(err)
	}
	if err := read(resp); err != nil {
		return own.Permanent(err)
	}
	err = read(resp)
	return own.Permanent(err)
}

func pointer(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	decode(resp, &err)
	return own.Permanent(err)
}

func closure(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	func() { err = read(resp) }()
	return own.Permanent(err)
}

func closureBefore(url string) error {
	resp, err := http.Get(url)
	set := func() { err = read(resp) }
	if err != nil {
		return err
	}
	set()
	return own.Permanent(err)
}

func again(urls []string) error {
	_, err := http.Get(urls[0])
	if err != nil {
		return err
	}
	for _, url := range urls {
		if url == "" {
			return own.Permanent(err)
		}
		_, err = http.Get(url)
	}
	return own.Permanent(err)
}

func or(url string, last bool) error {
	resp, err := http.Get(url)
	if last || err == nil {
		return own.Permanent(err)
	}
	if err != nil && last {
		return err
	}
	if err != nil {
		last = true
	}
	if resp != nil {
		return own.Permanent(err)
	}
	switch {
	case err != nil:
		fallthrough
	case last:
		return own.Permanent(err)
	}
	return own.Permanent(err)
}

func list(url string) error {
	resp, err := http.Get(url)
	switch {
	case err == nil, resp == nil:
		return own.Permanent(err)
	}
	return nil
}

// What a condition around the call contradicts is not reached.
func unreached(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	if err != nil {
		return own.Permanent(err)
	}
	switch {
	case resp == nil && err != nil:
		return own.Permanent(err)
	}
	if err == nil {
		return nil
	} else {
		return own.Permanent(err)
	}
}

// In the literal, err is what it was when the literal runs.
func later(url string) func() error {
	_, err := http.Get(url)
	if err != nil {
		return nil
	}
	return func() error { return own.Permanent(err) }
}

func read(*http.Response) error { return nil }

func decode(*http.Response, *error) {}
