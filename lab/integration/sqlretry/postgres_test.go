//go:build unix

package sqlretry_test

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// startPostgres starts a PostgreSQL server of the test's own, which listens on a Unix socket alone,
// and returns how to reach it. It skips the test if there is no PostgreSQL.
func startPostgres(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	bin, ok := programs(debian, "initdb", "postgres")
	if !ok {
		t.Skip("skipped: no PostgreSQL in PATH nor in Debian's folder; Debian's package is postgresql")
	}

	folder := newFolder(t, "postgres")
	var attr syscall.SysProcAttr
	if os.Geteuid() == 0 { // as which PostgreSQL does not run
		nobody, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
		require.NoError(t, errors.Join(err1, err2, os.Chown(folder, int(uid), int(gid))))
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir, c.SysProcAttr, c.Stderr = folder, &attr, t.Output()
		return c
	}
	data := filepath.Join(folder, "data")
	require.NoError(t, command("initdb", "-D", data, "-U", "test", "-A", "trust", "-N", "-E", "UTF8", "--no-locale").Run())
	server := command("postgres", "-D", data, "-k", folder, "-h", "", "-F", "-c", "deadlock_timeout=10ms", "-c", "log_min_messages=panic")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGQUIT)
		server.Wait()
	})

	config, err := pgx.ParseConfig("host=" + folder + " user=test dbname=postgres sslmode=disable")
	require.NoError(t, err)
	version, err := backoff.RetryWithData(func() (string, error) {
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			return "", err
		}
		defer conn.Close(t.Context())
		return conn.PgConn().ParameterStatus("server_version"), nil
	}, startupWaits())
	require.NoError(t, err)
	t.Log("with PostgreSQL", version, "from", bin)
	return config
}
