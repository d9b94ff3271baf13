//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/backoff"
)

// findPostgres returns the folder of PostgreSQL's programs, and its version. Both are empty if there is none.
func findPostgres() (folder, version string) {
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), debian...) {
		_, err1 := exec.LookPath(filepath.Join(folder, "initdb"))
		output, err2 := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
		fields := strings.Fields(string(output)) // postgres (PostgreSQL) 15.18
		if errors.Join(err1, err2) == nil && len(fields) > 2 {
			return folder, fields[2]
		}
	}
	return "", ""
}

// runPostgres is a program of the shell that makes a database in a folder, serves it on a Unix socket there until its
// input ends, which it does with this process, and removes the folder. After INT, PostgreSQL does not wait for
// connections to end.
const runPostgres = `
	folder=$1
	programs=$2
	trap "" HUP INT
	cd "$folder"
	"$programs/initdb" -D data -U test -A trust -N -E UTF8 --no-locale >initdb.txt
	"$programs/postgres" -D data -k "$folder" -h "" -F -c max_connections=200 -c log_min_messages=panic &
	read -r line
	kill -s TERM $!
	kill -s INT $!
	wait $!
	rm -r "$folder"
`

// startPostgres starts PostgreSQL, and returns its folder once it answers, and a function that ends it.
func startPostgres(ctx context.Context, stderr io.Writer, programs string) (folder string, end func(), err error) {
	folder, err = os.MkdirTemp("/tmp", "postgres") // the path of a socket must be short
	if err != nil {
		return "", nil, err
	}
	credential, err := unprivileged(folder)
	if err != nil {
		return "", nil, err
	}
	postgres, err := start(context.WithoutCancel(ctx), stderr, credential, "sh", "-c", runPostgres, "sh", folder, programs)
	if err != nil {
		return "", nil, err
	}
	end = func() {
		postgres.in.Close()
		postgres.Wait()
	}
	if err := awaitPostgres(ctx, folder); err != nil {
		end()
		return "", nil, err
	}
	return folder, end, nil
}

func awaitPostgres(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return backoff.Retry(func() error {
		conn, err := pgx.Connect(ctx, dataSource(folder))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}, backoff.WithContext(backoff.NewConstantBackOff(20*time.Millisecond), ctx))
}

// dataSource says how to reach PostgreSQL in a folder.
func dataSource(folder string) string {
	return "host=" + folder + " user=test dbname=postgres sslmode=disable"
}

// unprivileged returns the credential of nobody for a process of root, since PostgreSQL does not run as root. The
// folder belongs to nobody then.
func unprivileged(folder string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return credential, errors.Join(err1, err2, os.Chown(folder, int(uid), int(gid)))
}
