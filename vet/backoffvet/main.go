// Backoffvet reports misuse of example.com/backoff and github.com/cenkalti/backoff, by itself and as a
// tool of go vet.
package main

import (
	"example.com/backoff/vet"
	"golang.org/x/tools/go/analysis/singlechecker"
)

func main() { singlechecker.Main(vet.Analyzer) }
