package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/cenkalti/backoff/v4"
)

func right(ctx context.Context, key string, payload []byte) error {
	return calls.Do(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, "POST", "/orders", bytes.NewReader(payload))
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return json.NewDecoder(resp.Body).Decode(new(any))
	})
}

func rewound(b backoff.BackOff, payload []byte) error {
	body := bytes.NewReader(payload)
	get, _ := http.NewRequest("GET", "/orders", nil)
	return backoff.Retry(func() error {
		body.Seek(0, 0)
		if _, err := http.NewRequest("POST", "/orders", body); err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(get)
		if err == nil {
			resp.Body.Close() // any answer will do
		}
		return err
	}, b)
}

func once(b backoff.BackOff, list func() ([]string, error)) (names []string, errs []error) {
	_ = backoff.Retry(func() error {
		page, err := list()
		errs = append(errs, err)
		if err != nil {
			return err
		}
		names = append(names, page...)
		return nil
	}, b)
	return names, errs
}
