//go:build race && go1.25

package httpretry_test

func init() { raceDetector = true }
