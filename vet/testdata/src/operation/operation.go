// Package operation does in each attempt what must be done once, or not again.
package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"

	own "example.com/backoff"
	"example.com/backoff/httpretry"
	"github.com/cenkalti/backoff/v4"
)

var (
	calls  own.Retrier
	client = &http.Client{Transport: &httpretry.Transport{}}
)

func wrongBody(b backoff.BackOff, payload []byte) error {
	body, other := bytes.NewReader(payload), bytes.NewReader(payload)
	req, _ := http.NewRequest("POST", "/orders", body)
	req.Close = true
	return backoff.Retry(func() error {
		_, err := http.DefaultClient.Do(req)               // want `the first attempt reads body to its end, and the next one sends nothing: make it in each attempt \[body\]`
		_, err = http.NewRequest("POST", "/orders", other) // want `the first attempt reads other to its end`
		return err
	}, b)
}

func wrongStatus(b own.BackOff) (v any, err error) {
	for range own.Attempts(b, &err) {
		resp, failure := client.Get("/orders") // want `nothing looks at the status, so a 503 is a success: return an error for it \[status\]`
		if err = failure; err == nil {
			err = json.NewDecoder(resp.Body).Decode(&v)
		}
	}
	return v, err
}

func wrongClient(req *http.Request) (v any, err error) {
	resp, err := client.Do(req) // want `nothing looks at the status`
	if err == nil {
		err = json.NewDecoder(resp.Body).Decode(&v)
	}
	return v, err
}

func rightClient(req, login *http.Request) (v any) {
	resp, _ := client.Do(login)
	resp.Body.Close()
	resp, _ = client.Do(req) // there may be more than the package shows
	_ = json.NewDecoder(resp.Body).Decode(&v)
	return v
}

func wrongCommand(b backoff.BackOff) error {
	cmd := exec.Command("true")
	return backoff.Retry(func() error { return cmd.Run() }, b) // want `cmd can be run once, and the next attempt fails: make it in each attempt \[body\]`
}

func rightCommand(b backoff.BackOff) error {
	var cmd, other *exec.Cmd
	reset := func() { other = exec.Command("true") }
	return backoff.Retry(func() error {
		cmd = exec.Command("true")
		run := func(cmd *exec.Cmd) error { return cmd.Run() }
		reset()
		return errors.Join(run(exec.Command("true")), cmd.Run(), other.Run())
	}, b)
}

func rightBody(b backoff.BackOff, payload []byte) error {
	req, _ := http.NewRequest("POST", "/orders", bytes.NewReader(payload))
	buffer := new(bytes.Buffer)
	return backoff.Retry(func() error {
		req.Body = io.NopCloser(bytes.NewReader(payload))
		_, err := http.DefaultClient.Do(req)
		buffer.Write(payload)
		_, err = http.NewRequest("POST", "/orders", buffer)
		return err
	}, b)
}

func right(ctx context.Context, payload []byte) error {
	get, _ := http.NewRequest("GET", "/orders", nil)
	body := bytes.NewReader(payload)
	return calls.Do(ctx, func(ctx context.Context) error {
		body.Seek(0, 0)
		req, err := http.NewRequestWithContext(ctx, "POST", "/orders", body)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(get); err == nil {
			resp.Body.Close() // any answer will do
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return json.NewDecoder(resp.Body).Decode(new(any))
	})
}
