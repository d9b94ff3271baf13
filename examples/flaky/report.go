package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
	"unicode"

	"example.com/backoff"
)

// report prints what happens, each line with the time since start.
type report struct {
	w      io.Writer
	start  time.Time
	budget *backoff.Budget
	err    error // the first that w returned
}

// print prints text.
func (r *report) print(format string, args ...any) {
	_, err := fmt.Fprintf(r.w, format, args...)
	if r.err == nil {
		r.err = err
	}
}

// heading prints a line about the server, after a blank one.
func (r *report) heading(text string) {
	r.print("\n")
	r.event("%s", text)
}

// event prints a line.
func (r *report) event(format string, args ...any) {
	r.print("%4.1fs  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

// retry reports a failed attempt, and the wait before the next.
func (r *report) retry(path string, attempt int, err error, wait time.Duration) {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err // without the URL: the line has the path
	}
	r.line(path, fmt.Sprintf("attempt %d: %v, wait %.2fs", attempt, err, wait.Seconds()))
}

// result reports how a call ended.
func (r *report) result(path, body string, err error) {
	text := fmt.Sprintf("ok, %d bytes", len(body))
	if err != nil {
		text = fmt.Sprintf("failed: %v", err)
	}
	r.line(path, text)
}

// line prints a line about a call, with the tokens that are left in the budget.
func (r *report) line(path, text string) {
	r.event("budget %2d  %-8s  %s", r.budget.Tokens(), path, printable(text))
}

// printable returns text without the characters that could control a terminal: a server may have sent some
// of it.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
}
