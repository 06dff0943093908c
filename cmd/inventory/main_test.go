package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/cli"
	"inventory/internal/servertest"
)

// The private servers that the tests of this package share.
var (
	postgresServer *servertest.Postgres
	redisServer    *servertest.Redis
)

// isProgram is the variable with which the test program is the program.
const isProgram = "TEST_IS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

// program returns the program as its own process.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), isProgram+"=yes")
	return command
}

func runTests(m *testing.M) (code int) {
	ctx := context.Background()
	var err error
	if postgresServer, err = servertest.StartPostgres(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if redisServer, err = servertest.StartRedis(ctx); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, postgresServer.Stop()))
		return 1
	}
	code = m.Run()
	err = errors.Join(redisServer.Stop(), postgresServer.Stop(), busytest.Leaks())
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// result is what a command printed, and its exit status.
type result struct {
	code     int
	out, err string
}

// invoke runs the program inside the test.
func invoke(t *testing.T, args ...string) result {
	t.Helper()
	return invokeIn(t.Context(), t, args...)
}

// invokeIn is invoke until a context ends.
func invokeIn(ctx context.Context, t *testing.T, args ...string) result {
	t.Helper()
	return inTime(t, args, func() result {
		var out, errs busytest.Log
		code := run(ctx, args, cli.Streams{Out: &out, Err: &errs})
		return result{code, out.String(), errs.String()}
	})
}

// inTime calls a command again while a server has not answered it in time: a command waits for its servers for two seconds at most,
// and does nothing if they do not answer. Its exit status says that the call may work another time.
func inTime(t *testing.T, args []string, call func() result) (r result) {
	t.Helper()
	busytest.Soon(t, fmt.Sprintf("the servers of %q have answered in time", args), func() bool {
		r = call()
		return r.code != statusFailed || !late.MatchString(r.err)
	})
	return r
}

// late is what the program says about a server that has not answered in time.
var late = regexp.MustCompile(`(?m)^inventory: .*(deadline exceeded|i/o timeout|lock timeout)`)

// spawn runs the program as its own process.
func spawn(t *testing.T, args ...string) result {
	t.Helper()
	return inTime(t, args, func() result {
		var out, errs busytest.Log
		command := program(t, args...)
		command.Stdout, command.Stderr = &out, &errs
		err := command.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return result{command.ProcessState.ExitCode(), out.String(), errs.String()}
	})
}

// database returns the URL of a new PostgreSQL database.
func database(t *testing.T) string {
	t.Helper()
	url, drop, err := postgresServer.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return url
}

func sqliteFile(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")
}

// oneLine checks that a command failed and gave the reason in one line, with each of the texts and nothing secret.
func oneLine(t *testing.T, r result, texts ...string) {
	t.Helper()
	endedWith(t, statusFailed, r, texts...)
}

// wrongUse is oneLine for a call that can never work.
func wrongUse(t *testing.T, r result, texts ...string) {
	t.Helper()
	endedWith(t, statusUsage, r, texts...)
}

// failure is a command line that cannot work, the texts in its last line, and its exit status.
type failure struct {
	args   []string
	says   string
	status int
}

// cannotBe runs command lines that cannot work, each after the same arguments.
func cannotBe(t *testing.T, first []string, failures []failure) {
	t.Helper()
	for _, f := range failures {
		endedWith(t, f.status, invoke(t, slices.Concat(first, f.args)...), f.says)
	}
}

func endedWith(t *testing.T, status int, r result, texts ...string) {
	t.Helper()
	last := r.err[strings.LastIndexByte(strings.TrimSpace(r.err), '\n')+1:]
	if r.code != status || !strings.HasPrefix(last, "inventory: ") {
		t.Errorf("exit status %d, %s", r.code, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(last, text) {
			t.Errorf("%q does not say %q", last, text)
		}
	}
	if strings.Contains(r.out+r.err, canary) {
		t.Errorf("a secret was printed: %s", r.out+r.err)
	}
}

const canary = "canary-7391"

// run runs the program inside a test and returns the exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	return cli.Run(ctx, args, s, &commands{}, options()...)
}
