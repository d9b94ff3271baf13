// Package uploadform uploads a file as a form (multipart/form-data) without reading all of it into memory.
//
// The form may be sent twice, with the same key. The server must know the key, and do the work once. If it does not, send
// none: then the form is sent again only after a 429 or a failed connection. A 409 in the end may be your own success, if
// the answer to an earlier attempt was lost.
package uploadform

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// NewClient returns a client for one server. If base is nil, that is http.DefaultTransport.
func NewClient(base http.RoundTripper) *http.Client {
	return &http.Client{
		CheckRedirect: noRedirect,
		Transport: &httpretry.Transport{
			Base: base,
			// The longest silence. The operating system takes some megabytes at once, and no progress is seen while they
			// are on their way. So it is longer than they take, and the answer after them.
			AttemptTimeout: 30 * time.Second,
			BodyTimeout:    10 * time.Second, // for each silence of the answer's body
			Slots:          new(backoff.Slots),
		},
	}
}

// noRedirect makes a redirect an error: net/http would follow some with a GET.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Upload sends the file at path to url. Make key once for each file, and keep it for later calls. Give ctx a deadline that
// leaves time for several uploads.
func Upload(ctx context.Context, client *http.Client, url, path, key string) error {
	req, err := newRequest(ctx, url, path)
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key) // so httpretry repeats the POST like a PUT

	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s: %q", resp.Status, reason)
	}
	return nil
}

// newRequest returns a request whose body is a form with the file at path.
func newRequest(ctx context.Context, url, path string) (*http.Request, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	_, err = writer.CreateFormFile("file", filepath.Base(path))
	if err != nil {
		return nil, err
	}
	middle := form.Len() // where the file goes
	err = writer.Close()
	if err != nil {
		return nil, err
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", writer.FormDataContentType())
	req.ContentLength = int64(form.Len()) + info.Size()
	req.GetBody = func() (io.ReadCloser, error) { // each attempt opens the file anew
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		before := bytes.NewReader(form.Bytes()[:middle])
		after := bytes.NewReader(form.Bytes()[middle:])
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(before, file, after), file}, nil
	}
	req.Body, err = req.GetBody()
	return req, err
}
