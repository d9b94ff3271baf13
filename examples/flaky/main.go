// Flaky fetches pages from an HTTP server that misbehaves, and retries what may be retried.
//
// The server runs on a loopback port and has a page for each way to misbehave; -h lists them. With
// -url, flaky fetches that URL instead.
//
// It prints each retry, and how each page ended, even after Ctrl-C or SIGTERM. It exits with
// 0 if every page ended as it should, with 1 if one did not or the output could not be written, and
// with 2 for bad usage.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"example.com/backoff"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &client{}
	flags := flag.NewFlagSet("flaky", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { usage(flags) }
	address := flags.String("url", "", "fetch this `URL` instead of the server's pages")
	flags.Uint64Var(&c.attempts, "attempts", 6, "try each page at most this many `times`")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "give up an attempt after this `time`")
	verbose := flags.Bool("v", false, "report successful attempts too")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	name, err := check(flags.Args(), *address, c.attempts, c.timeout)
	if err != nil {
		fmt.Fprintln(stderr, "flaky:", err)
		return 2
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	targets := []page{{path: name, url: *address, does: "(given by -url)"}}
	if *address == "" {
		targets = pages()
		if err := serve(ctx, targets); err != nil {
			fmt.Fprintln(stderr, "flaky:", err)
			return 1
		}
	}
	out := &output{Writer: stdout}
	c.log = newLog(out, *verbose)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // otherwise net/http itself retries some dropped connections
	c.http.Transport = transport
	c.http.CheckRedirect = checkRedirect
	good := c.fetchAll(ctx, targets, out)
	if out.err != nil {
		fmt.Fprintln(stderr, "flaky: output:", out.err)
	}
	if !good || out.err != nil {
		return 1
	}
	return 0
}

func usage(flags *flag.FlagSet) {
	w := tabwriter.NewWriter(flags.Output(), 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "Flaky fetches pages from an HTTP server that misbehaves, and retries what may be retried.\n",
		"The server runs on a loopback port. Its pages, and what it does when they are requested:\n\n")
	for _, p := range pages() {
		fmt.Fprintf(w, "  %s\t%s\n", p.path, p.does)
	}
	fmt.Fprint(w, "\nFlags:\n")
	w.Flush()
	flags.PrintDefaults()
}

// check returns address as it is to be shown, without its password. For the same reason its errors do
// not show it.
func check(rest []string, address string, attempts uint64, timeout time.Duration) (string, error) {
	if len(rest) > 0 {
		return "", errors.New("unexpected argument; a URL needs -url")
	}
	if attempts == 0 {
		return "", errors.New("-attempts must be at least 1")
	}
	if timeout <= 0 {
		return "", errors.New("-timeout must be longer than zero")
	}
	if address == "" {
		return "", nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("-url is not an http or https URL")
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil && u.Port() != "" {
		return "", fmt.Errorf("-url has an invalid port: %s", u.Port())
	}
	return u.Redacted(), nil
}

// output remembers the first error of its Writer.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
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

// client fetches pages. Its workers share a budget, so that together they do not hammer a server that
// is down.
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

// fetchAll fetches all pages at once, prints how each ended, and reports whether all ended as they
// should.
func (c *client) fetchAll(ctx context.Context, pages []page, stdout io.Writer) bool {
	start := time.Now()
	results := make([]result, len(pages))
	var workers sync.WaitGroup
	for i, p := range pages {
		workers.Add(1)
		go func() {
			defer workers.Done()
			results[i] = c.fetch(ctx, p.path, p.url)
		}()
	}
	workers.Wait()

	fmt.Fprintln(stdout)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tpage\tthe server\tattempts\ttime\toutcome")
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
			if p.want != nil {
				outcome += ", as expected"
			}
		}
		total += r.attempts
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%v\t%s\n",
			verdict, p.path, p.does, r.attempts, r.took.Round(time.Millisecond), outcome)
	}
	table.Flush()
	fmt.Fprintf(stdout, "\n%d of %d pages ended as they should (attempts: %d, time: %v)\n",
		good, len(pages), total, time.Since(start).Round(time.Millisecond))
	return good == len(pages)
}

// fetch gets one page, retrying for as long as that may help.
func (c *client) fetch(ctx context.Context, name, address string) result {
	policy := backoff.WithContext(
		backoff.WithBudget(
			backoff.WithMaxRetries(
				backoff.NewExponentialBackOff(
					backoff.WithInitialInterval(100*time.Millisecond),
					backoff.WithMaxElapsedTime(time.Minute), // a server may ask for no longer wait
					backoff.WithJitter(backoff.EqualJitter)),
				c.attempts-1),
			&c.budget),
		ctx)
	attempt, start := 0, time.Now()
	log := c.log.With("page", name)
	size, err := backoff.RetryNotifyWithData(func() (int, error) {
		attempt++
		size, err := c.get(ctx, address)
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
func (c *client) get(ctx context.Context, address string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, backoff.Permanent(err)
	}
	response, err := c.http.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the URL: that of a redirect may hold a password
	}
	if permanent(err) {
		err = backoff.Permanent(err)
	}
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
		return 0, backoff.RetryAfter(errors.New(response.Status), wait)
	case response.StatusCode != http.StatusOK:
		return 0, backoff.Permanent(errors.New(response.Status))
	}
	return len(body), err
}

// checkRedirect marks the errors that end a chain of redirects as permanent: the next attempt would
// be sent round the same way.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return backoff.Permanent(errors.New("stopped after 10 redirects"))
	}
	if u := request.URL; u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return backoff.Permanent(fmt.Errorf("redirected to %q", u.Redacted()))
	}
	return nil
}

// permanent reports whether the next attempt would fail like the one that failed with err.
func permanent(err error) bool {
	var (
		name        *net.DNSError
		address     *net.AddrError
		certificate *tls.CertificateVerificationError
	)
	return errors.As(err, &name) && name.IsNotFound || errors.As(err, &address) || errors.As(err, &certificate) ||
		errors.Is(err, http.ErrSchemeMismatch)
}
