//go:build unix

package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
)

// ownerVariable makes the test binary an owner of servers, for the test that
// kills it.
const ownerVariable = "SERVERTEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) != "" {
		if err := ownServers(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	busytest.Main(m)
}

// ownServers starts both servers, prints them, and waits until it is killed.
func ownServers() error {
	redis, err := StartRedis(context.Background())
	if err != nil {
		return err
	}
	postgres, err := StartPostgres(context.Background())
	if err != nil {
		return err
	}
	for _, s := range []*server{&redis.server, &postgres.server} {
		fmt.Println(s.process.pid(), s.folder.path)
	}
	select {}
}

func startRedis(t *testing.T, arguments ...string) *Redis {
	t.Helper()
	r, err := StartRedis(t.Context(), arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, r.Stop, &r.server) })
	return r
}

func startPostgres(t *testing.T, options ...PostgresOption) *Postgres {
	t.Helper()
	p, err := StartPostgres(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p.Stop, &p.server) })
	return p
}

// stop stops a server twice and checks that nothing of it is left.
func stop(t *testing.T, stop func() error, s *server) {
	t.Helper()
	for range 2 {
		if err := stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	if _, err := os.Stat(s.folder.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder %s is still there: %v", s.folder.path, err)
	}
	if left := descendants(t, s.folder.path); len(left) > 0 {
		t.Errorf("processes still work in %s: %v", s.folder.path, left)
	}
	if connection, err := net.Dial("tcp", s.Addr()); err == nil {
		_ = connection.Close()
		t.Errorf("somebody still listens on %s", s.Addr())
	}
}

// descendants lists the living processes whose working folder is under path.
// It sees them on Linux only.
func descendants(t *testing.T, path string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, path) {
			found = append(found, link)
		}
	}
	return found
}

// ping sends Redis a PING and returns its answer.
func ping(r *Redis, timeout time.Duration) (string, error) {
	connection, err := net.DialTimeout("tcp", r.Addr(), timeout)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if _, err := connection.Write([]byte("PING\r\n")); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(line), err
}

func TestRedisLife(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	if want := "redis://" + r.Addr() + "/0"; r.URL() != want {
		t.Errorf("URL is %q, want %q", r.URL(), want)
	}
	alive := func() {
		t.Helper()
		if answer, err := ping(r, busytest.Patience); err != nil || answer != "+PONG" {
			t.Fatalf("PING: %q, %v", answer, err)
		}
	}
	alive()

	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	if answer, err := ping(r, 100*time.Millisecond); err == nil {
		t.Errorf("a paused server answered %q", answer)
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	alive()

	if err := r.Restart(t.Context()); err == nil {
		t.Error("a running server was restarted")
	}
	for range 2 {
		if err := r.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ping(r, busytest.Patience); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("PING to a killed server: %v", err)
	}
	if err := r.Pause(); !errors.Is(err, errNotRunning) {
		t.Errorf("Pause of a killed server: %v", err)
	}
	address := r.Addr()
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.Addr() != address {
		t.Errorf("restarted on %s, was on %s", r.Addr(), address)
	}
	alive()
	if err := r.Pause(); err != nil { // so that Stop meets a paused server
		t.Fatal(err)
	}
}

func TestRestartAfterStop(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("Restart after Stop: %v", err)
	}
}

func TestRestartWaitsForItsPort(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	squatter, err := net.Listen("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	freed := time.AfterFunc(300*time.Millisecond, func() { _ = squatter.Close() })
	defer freed.Stop()
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFailedStartTellsWhy(t *testing.T) {
	t.Parallel()
	_, err := StartRedis(t.Context(), "--no-such-setting", "1")
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("Redis: %v", err)
	}
	_, err = StartPostgres(t.Context(), Setting("no_such_setting", "1"))
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("PostgreSQL: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartRedis(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Redis under a cancelled context: %v", err)
	}
	if _, err := StartPostgres(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("PostgreSQL under a cancelled context: %v", err)
	}
}

func TestTakenPortIsRecognised(t *testing.T) {
	t.Parallel()
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	port := squatter.Addr().(*net.TCPAddr).Port

	r, p := startRedis(t), startPostgres(t)
	for _, s := range []*server{&r.server, &p.server} {
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		own := s.port
		s.port = port
		if err := s.start(t.Context()); !errors.Is(err, errPortTaken) {
			t.Errorf("%s on a taken port: %v", s.name, err)
		}
		s.port = own
	}
}

func TestPostgresLife(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for _, test := range []struct {
		name, fsync string
		options     []PostgresOption
	}{
		{"quick", "off", nil},
		{"durable", "on", []PostgresOption{Durable()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := startPostgres(t, test.options...)
			if got := queryText(t, p.URL(), "SHOW fsync"); got != test.fsync {
				t.Errorf("fsync is %s, want %s", got, test.fsync)
			}
			if got := queryText(t, p.URL(), "SHOW synchronous_commit"); got != "on" {
				t.Errorf("synchronous_commit is %s", got)
			}
			url, _, err := p.CreateDatabase(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			queryText(t, url, "CREATE TABLE t AS SELECT 'kept' AS word")
			sleeper := asyncQuery(t, url, "SELECT 'x' FROM pg_sleep(600)")

			for range 2 {
				if err := p.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if left := descendants(t, p.folder.path); len(left) > 0 {
				t.Errorf("after Kill, processes are left: %v", left)
			}
			if err := busytest.Receive(t, "the end of the query", sleeper); err == nil {
				t.Error("a query survived Kill")
			}
			if err := p.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := queryText(t, url, "SELECT word FROM t"); got != "kept" {
				t.Errorf("after Restart the row is %q", got)
			}
		})
	}
}

func TestStopAfterKill(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

func TestCreateDatabase(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	template, _, err := p.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	queryText(t, template, "CREATE TABLE t AS SELECT 'cloned' AS word")

	started := time.Now()
	first, drop, err := p.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cloned in %v", time.Since(started))
	second, _, err := p.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	queryText(t, first, "UPDATE t SET word = 'changed'")
	if got := queryText(t, second, "SELECT word FROM t"); got != "cloned" {
		t.Errorf("the second clone holds %q", got)
	}

	sleeper := asyncQuery(t, first, "SELECT 'x' FROM pg_sleep(600)")
	for range 2 {
		if err := drop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := busytest.Receive(t, "the end of the query", sleeper); err == nil {
		t.Error("a query survived the drop of its database")
	}
	if _, err := pgx.Connect(t.Context(), first); err == nil {
		t.Error("the dropped database takes connections")
	}
	if _, _, err := p.CreateDatabase(t.Context(), "no_such_database"); err == nil {
		t.Error("cloned a database that does not exist")
	}
}

// queryText runs a statement and returns the one text of its result, if any.
func queryText(t *testing.T, url, statement string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	var text string
	err = connection.QueryRow(t.Context(), statement).Scan(&text)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", statement, err)
	}
	return text
}

// asyncQuery starts a statement on its own connection and returns when the
// server works on it. The statement's error arrives on the channel.
func asyncQuery(t *testing.T, url, statement string) <-chan error {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	pid := connection.PgConn().PID()
	end := make(chan error, 1)
	go func() {
		_, err := connection.Exec(context.WithoutCancel(t.Context()), statement)
		end <- errors.Join(err, connection.Close(context.WithoutCancel(t.Context())))
	}()
	active := fmt.Sprintf("SELECT state FROM pg_stat_activity WHERE pid = %d", pid)
	busytest.Soon(t, "the server works on "+statement, func() bool { return queryText(t, url, active) == "active" })
	return end
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartRedis(t.Context())
	if err == nil || !strings.Contains(err.Error(), "redis-server") ||
		!strings.Contains(err.Error(), "scripts/install-servers") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without redis-server: %v", err)
	}
}

func TestMajorVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"/usr/lib/postgresql/15/bin":                      15,
		"postgres (PostgreSQL) 17.2 (Debian 17.2-1)":      17,
		"postgres (PostgreSQL) 18beta1":                   18,
		"/usr/local/pgsql/bin":                            0,
		"postgres (PostgreSQL) 99999999999999999999999.1": 0,
	} {
		if got := majorVersion(text); got != want {
			t.Errorf("majorVersion(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestSweepKeepsOwnedFolders(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	abandoned, owned := filepath.Join(parent, folderPrefix+"1"), filepath.Join(parent, folderPrefix+"2")
	for _, path := range []string{abandoned, owned} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := lockFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		if path == abandoned {
			_ = lock.Close()
		} else {
			defer lock.Close()
		}
	}
	sweepFolders(parent)
	if _, err := os.Stat(abandoned); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the abandoned folder is still there: %v", err)
	}
	if _, err := os.Stat(owned); err != nil {
		t.Errorf("the owned folder: %v", err)
	}
}
