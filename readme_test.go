package backoff_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func dial(ctx context.Context, addr string) (conn net.Conn, err error) {
	for range backoff.Attempts(policy(ctx), &err) {
		conn, err = net.Dial("tcp", addr)
	}
	return conn, err
}

// The function above, as the README has it, connects.
func TestReadmeDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no network:", err)
	}
	defer listener.Close()
	conn, err := dial(context.Background(), listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// Every declaration in the README's Go blocks stands word for word in a file that is compiled and run.
func TestReadmeBlocks(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 2)
	var sources strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "/") {
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			sources.Write(source)
		}
		return err
	}))
	for _, block := range blocks[1:] {
		for _, declaration := range strings.Split(block[1], "\n\n") {
			require.Contains(t, sources.String(), declaration)
		}
	}
	program, err := os.ReadFile("examples/quickstart/main.go")
	require.NoError(t, err)
	require.Equal(t, string(program), blocks[0][1], "the first block is a whole program")
}

// Every test that the README names exists, and so does every file that it links to.
func TestReadmeNames(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range append(files, "bench/bars_test.go") {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(source)
	}
	for _, name := range regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark|Example)[A-Z]\w+)`).FindAllStringSubmatch(string(readme), -1) {
		require.Contains(t, tests.String(), "func "+name[1]+"(", "the README names it")
	}
	for _, link := range regexp.MustCompile(`\]\(([\w./-]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		_, err := os.Stat(link[1])
		require.NoError(t, err)
	}
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 200)
}
