package vet_test

import (
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"example.com/backoff/vet"
)

// libraries holds, by import path, the file in testdata that stands in for a library, or that not every Go
// can parse.
var libraries = map[string]string{
	"example.com/backoff":            "v4.go",
	"example.com/backoff/httpretry":  "httpretry.go",
	"example.com/backoff/sqlretry":   "sqlretry.go",
	"github.com/cenkalti/backoff":    "v4.go",
	"github.com/cenkalti/backoff/v4": "v4.go",
	"github.com/cenkalti/backoff/v7": "v7.go",
	"methods":                        "methods.txt",
}

// A comment "want" stands beside what must be reported; nothing else may be.
func TestAnalyzer(t *testing.T) {
	gopath := t.TempDir()
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	try(os.CopyFS(gopath, os.DirFS(analysistest.TestData())))
	for path, file := range libraries {
		stub, err := os.ReadFile(filepath.Join(gopath, file))
		try(err)
		folder := filepath.Join(gopath, "src", path)
		try(os.MkdirAll(folder, 0o777))
		try(os.WriteFile(filepath.Join(folder, "backoff.go"), stub, 0o666))
	}
	packages := []string{
		"again", "attempts", "classify", "equal", "loops", "lost", "onecall", "operation", "program", "retrier", "settings",
		"shared", "versions", "wait",
	}
	if slices.Contains(build.Default.ReleaseTags, "go1.27") {
		packages = append(packages, "methods")
	}
	analysistest.Run(t, gopath, vet.Analyzer, packages...)
}
