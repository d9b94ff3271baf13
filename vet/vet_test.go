package vet_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"example.com/backoff/vet"
)

// Each package has what must be reported beside what must not.
func TestAnalyzer(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), vet.Analyzer,
		"shared", "sharedmain", "wait", "ctx", "interval", "stop", "versions")
}
