// Flaky fetches pages from an HTTP server that misbehaves, and retries what may be retried.
//
// The server runs on a loopback port of its own and answers 503 for a while, asks for a pause with
// 429 and Retry-After, hangs until the client loses patience, cuts connections off, and has a page
// missing. With -url, flaky fetches a URL of yours instead.
//
// It exits with 0 if every page ended as it should, with 1 if one did not, and with 2 if it was
// called wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"text/tabwriter"
	"time"

	"example.com/backoff"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("flaky", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("url", "", "fetch this `URL` instead of the pages of the flaky server")
	attempts := flags.Uint64("attempts", 6, "how many `times` a page is tried at most")
	timeout := flags.Duration("timeout", time.Second, "how long one attempt may take")
	verbose := flags.Bool("v", false, "report successful attempts too")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if err := check(flags.Args(), *address, *attempts, *timeout); err != nil {
		fmt.Fprintln(stderr, "flaky:", err)
		return 2
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	targets, base := []page{{path: *address}}, ""
	if *address == "" {
		var err error
		targets = pages()
		if base, err = serve(ctx, targets); err != nil {
			fmt.Fprintln(stderr, "flaky:", err)
			return 1
		}
	}
	c := &client{attempts: *attempts, timeout: *timeout, log: newLog(stdout, *verbose)}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // or net/http itself tries again after some dropped connections
	c.http.Transport = transport
	return c.fetchAll(ctx, base, targets, stdout)
}

func check(rest []string, address string, attempts uint64, timeout time.Duration) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q", rest[0])
	}
	if attempts == 0 {
		return errors.New("-attempts must be at least 1")
	}
	if timeout <= 0 {
		return errors.New("-timeout must be longer than zero")
	}
	if address == "" {
		return nil
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("-url %q is not an http or https URL", address)
	}
	return nil
}

// newLog returns a log whose lines begin with the time since now.
func newLog(w io.Writer, verbose bool) *slog.Logger {
	start, level := time.Now(), slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey:
				return slog.String("t", fmt.Sprintf("%.3fs", time.Since(start).Seconds()))
			case slog.LevelKey:
				return slog.Attr{}
			}
			return a
		},
	}))
}

// client fetches pages. Its workers share one budget, so that a server which is down for good is
// not asked again and again by all of them.
type client struct {
	http     http.Client
	budget   backoff.Budget
	attempts uint64
	timeout  time.Duration
	log      *slog.Logger
}

type result struct {
	size, attempts int
	err            error
	took           time.Duration
}

// fetchAll fetches all pages at once, prints how each ended, and returns the exit code.
func (c *client) fetchAll(ctx context.Context, base string, pages []page, stdout io.Writer) int {
	start := time.Now()
	results := make([]result, len(pages))
	var workers sync.WaitGroup
	for i, p := range pages {
		workers.Add(1)
		go func() {
			defer workers.Done()
			results[i] = c.fetch(ctx, p.path, base+p.path)
		}()
	}
	workers.Wait()

	fmt.Fprintln(stdout)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tpage\tattempts\ttime\toutcome")
	total, good := 0, 0
	for i, p := range pages {
		r := results[i]
		verdict, outcome := "FAIL", fmt.Sprintf("%d bytes", r.size)
		if r.err != nil {
			outcome = r.err.Error()
		}
		if errors.Is(r.err, p.want) {
			verdict = "ok"
			good++
		}
		total += r.attempts
		fmt.Fprintf(table, "%s\t%s\t%d\t%v\t%s\n", verdict, p.path, r.attempts, r.took.Round(time.Millisecond), outcome)
	}
	table.Flush()
	fmt.Fprintf(stdout, "\n%d of %d pages ended as they should, after %d attempts in %v\n",
		good, len(pages), total, time.Since(start).Round(time.Millisecond))
	if good < len(pages) {
		return 1
	}
	return 0
}

// fetch gets one page, retrying for as long as that may help.
func (c *client) fetch(ctx context.Context, name, url string) result {
	policy := backoff.WithContext(
		backoff.WithBudget(
			backoff.WithMaxRetries(
				backoff.NewExponentialBackOff(
					backoff.WithInitialInterval(100*time.Millisecond),
					backoff.WithJitter(backoff.EqualJitter)),
				c.attempts-1),
			&c.budget),
		ctx)
	attempt, start := 0, time.Now()
	log := c.log.With("page", name)
	size, err := backoff.RetryNotifyWithData(func() (int, error) {
		attempt++
		size, err := c.get(ctx, url)
		if err == nil {
			log.Debug("done", "attempt", attempt, "bytes", size)
		}
		return size, err
	}, policy, func(err error, wait time.Duration) {
		log.Warn("retry", "attempt", attempt, "wait", wait.Round(time.Millisecond), "error", err)
	})
	return result{size: size, attempts: attempt, err: err, took: time.Since(start)}
}

// get makes one attempt.
func (c *client) get(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, backoff.Permanent(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	switch {
	case response.StatusCode == http.StatusNotFound:
		return 0, backoff.Permanent(errNotFound)
	case backoff.RetryableStatus(response.StatusCode):
		wait, _ := backoff.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now())
		return 0, backoff.RetryAfter(errors.New(response.Status), min(wait, 30*time.Second))
	case response.StatusCode != http.StatusOK:
		return 0, backoff.Permanent(errors.New(response.Status))
	}
	return len(body), err
}
