// Package download gets a large file over connections that break.
//
// The request is sent many times. After a break it asks for what has not come yet, if the server sends a strong ETag and
// serves ranges. Without these, or if the file has changed meanwhile, the download starts from the beginning: the parts of
// a file are never of two versions. If the server does not say how long the file is, compare a checksum, since nobody can
// tell then whether all of it came.
//
// A response with a Content-Encoding is a permanent error, since the file was asked for as it is. With AddEncoding, Apache
// sends .gz files so.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// patience is how long Get goes on without progress.
const patience = 10 * time.Minute

var (
	errChanged = errors.New("download: the file has changed")
	errEncoded = errors.New("download: the server has encoded the file")
)

// NewClient returns a client for one server. If base is nil, that is http.DefaultTransport.
func NewClient(base http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: &httpretry.Transport{
			Base:           base,
			AttemptTimeout: 30 * time.Second, // until the file begins
			BodyTimeout:    30 * time.Second, // for each silence after that
			Slots:          new(backoff.Slots),
			MaxAttempts:    1, // Get makes them
		},
	}
}

// Get downloads the file at url, and puts it at path when all of it has come. Only its owner may read it, as with
// os.CreateTemp.
func Get(ctx context.Context, client *http.Client, url, path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // finds nothing after the rename
	defer file.Close()

	d := &download{client: client, url: url, file: file}
	err = d.get(ctx)
	if err != nil {
		return err
	}
	err = file.Close()
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

type download struct {
	client *http.Client
	url    string
	file   *os.File
	size   int64  // what has come, all of the same version
	total  int64  // what there is; negative if the server does not say
	etag   string // the version's
}

// get fills the file.
func (d *download) get(ctx context.Context) error {
	policy := backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(patience)), ctx)
	var most int64
	err := backoff.Retry(func() error {
		err := d.getRest(ctx)
		if d.size > most { // further than ever before
			most = d.size
			policy.Reset()
		}
		return err
	}, policy)
	if err != nil {
		return err
	}
	return d.file.Truncate(d.size) // more may have come of an older version
}

// getRest makes one attempt to get what is missing.
func (d *download) getRest(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	req.Header.Set("Accept-Encoding", "identity")     // otherwise net/http may ask for gzip, and unpack it
	if d.size > 0 && strings.HasPrefix(d.etag, `"`) { // a weak one does not promise the same bytes
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.size))
		req.Header.Set("If-Range", d.etag)
	}

	resp, err := d.client.Do(req)
	if err != nil {
		if !httpretry.Retryable(nil, err) {
			return backoff.Permanent(err)
		}
		return err
	}
	defer resp.Body.Close()
	err = d.accept(resp)
	if err != nil {
		io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
		return err
	}

	_, err = io.Copy(d, resp.Body)
	switch {
	case d.size == d.total: // even if the connection has broken after it
		return nil
	case err == nil && d.total >= 0: // a 206 may have less than was asked for
		return io.ErrUnexpectedEOF
	}
	return err
}

// accept returns nil if the body of resp belongs at d.size.
func (d *download) accept(resp *http.Response) error {
	encoding := resp.Header.Get("Content-Encoding")
	switch {
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && resp.Request.Header.Get("Range") != "":
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", d.size) {
			d.total = d.size // if it is the same version, which the answer with the last byte tells: a 416 often has no ETag
			d.size--
			return io.ErrUnexpectedEOF
		}
		d.size = 0 // the file has become shorter
		return errChanged
	case httpretry.Retryable(resp, nil): // also a 401, if a signer below the client has a new token
		return backoff.RetryAfter(errors.New(resp.Status), retryAfter(resp))
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent:
		return backoff.Permanent(errors.New(resp.Status))
	case encoding != "" && encoding != "identity":
		return backoff.Permanent(fmt.Errorf("%w: %s", errEncoded, encoding))
	}

	if resp.StatusCode == http.StatusOK { // all of it, from the beginning
		d.size = 0
		d.total = resp.ContentLength
		d.etag = resp.Header.Get("ETag")
		return nil
	}
	var first, last, total int64
	read, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total)
	if resp.Header.Get("ETag") != d.etag || first != d.size || read < 2 { // not every server heeds If-Range
		d.size = 0
		return errChanged
	}
	if read == 3 { // the total may be "*"
		d.total = total
	}
	return nil
}

// Write writes data after what has come.
func (d *download) Write(data []byte) (int, error) {
	n, err := d.file.WriteAt(data, d.size)
	d.size += int64(n)
	return n, backoff.Permanent(err) // the disk is full
}

// retryAfter returns the wait that resp asks for. A date is by the server's clock, as that of the response is.
func retryAfter(resp *http.Response) time.Duration {
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	return wait
}
