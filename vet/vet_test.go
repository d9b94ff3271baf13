package vet_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"example.com/backoff/vet"
)

// libraries holds, by import path, the file in testdata that stands in for a library.
var libraries = map[string]string{
	"example.com/backoff":            "v4.go",
	"example.com/backoff/httpretry":  "httpretry.go",
	"example.com/backoff/sqlretry":   "sqlretry.go",
	"github.com/cenkalti/backoff":    "v4.go",
	"github.com/cenkalti/backoff/v4": "v4.go",
	"github.com/cenkalti/backoff/v7": "v7.go",
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
	analysistest.Run(t, gopath, vet.Analyzer, "again", "attempts", "classify", "equal", "loops", "lost", "onecall", "operation",
		"program", "retrier", "settings", "shared", "versions", "wait")
}
