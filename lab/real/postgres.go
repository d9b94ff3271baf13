//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
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
		_, err := exec.LookPath(filepath.Join(folder, "initdb"))
		if err != nil {
			continue
		}
		output, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
		if fields := strings.Fields(string(output)); err == nil && len(fields) > 2 {
			return folder, fields[2]
		}
	}
	return "", ""
}

// guardPostgres runs PostgreSQL in a new folder, where it listens on a Unix socket alone, and prints the folder
// once it answers. In the end it removes the folder.
func guardPostgres(cell) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	folder, err := os.MkdirTemp("/tmp", "postgres") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	attributes, err := unprivileged(folder)
	if err != nil {
		return err
	}

	programs, _ := findPostgres()
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
		c.Dir, c.SysProcAttr, c.Stderr = folder, attributes, os.Stderr
		return c
	}
	data := filepath.Join(folder, "data")
	initdb := command("initdb", "-D", data, "-U", "test", "-A", "trust", "-N", "-E", "UTF8", "--no-locale")
	if err := initdb.Run(); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}

	stop() // from now on the guard receives the signals
	ctx = context.Background()
	go announce(folder)
	return guard(command("postgres", "-D", data, "-k", folder, "-h", "", "-F",
		"-c", "max_connections=200", "-c", "log_min_messages=panic"))
}

// announce prints the folder once PostgreSQL answers there. If it never does, the guard gets a signal to end.
func announce(folder string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := backoff.Retry(func() error {
		conn, err := pgx.Connect(ctx, dataSource(folder))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}, backoff.WithContext(backoff.NewConstantBackOff(20*time.Millisecond), ctx))
	if err != nil {
		fmt.Fprintln(os.Stderr, "real postgres:", err)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		return
	}
	fmt.Println(folder)
}

// dataSource says how to reach PostgreSQL in a folder.
func dataSource(folder string) string {
	return "host=" + folder + " user=test dbname=postgres sslmode=disable"
}

// unprivileged returns what lets a process of root run as nobody, since PostgreSQL does not run as root. The folder
// belongs to nobody then.
func unprivileged(folder string) (*syscall.SysProcAttr, error) {
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
	return &syscall.SysProcAttr{Credential: credential}, errors.Join(err1, err2, os.Chown(folder, int(uid), int(gid)))
}
