package vet_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"example.com/backoff/vet"
)

// Each package has what must be reported and, beside it, what must not.
func TestAnalyzer(t *testing.T) {
	for _, pkg := range []string{"shared", "sharedmain", "wait", "ctx", "interval", "stop", "versions"} {
		t.Run(pkg, func(t *testing.T) { analysistest.Run(t, analysistest.TestData(), vet.Analyzer, pkg) })
	}
}
