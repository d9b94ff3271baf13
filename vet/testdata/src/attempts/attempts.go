package attempts

import "example.com/backoff"

func shadowed(b backoff.BackOff) (n int, err error) {
	for range backoff.Attempts(b, &err) { // want `the body of this loop never sets err, and Attempts panics after it: assign to err, and declare no other \[attempts\]`
		n, err := fetch()
		if err == nil {
			return n, nil
		}
	}
	return n, err
}

func right(b backoff.BackOff) (n int, err error) {
	for range backoff.Attempts(b, &err) {
		n, err = fetch()
	}
	try := func() { n, err = fetch() }
	for range backoff.Attempts(b, &err) {
		try()
	}
	errs := []error{err}
	for range backoff.Attempts(b, &errs[0]) {
		n, errs[0] = fetch()
	}
	return n, err
}

func byPointer(b backoff.BackOff) (err error) {
	for range backoff.Attempts(b, &err) {
		into(&err)
	}
	return err
}

func into(err *error)     { _, *err = fetch() }
func fetch() (int, error) { return 0, nil }
