package main

import (
	"errors"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/cli"
)

// full is an output that takes no more, as the file of a full disk.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestAFullOutputIsToldOnce: whatever a command prints, it fails with one reason, and may be tried again.
func TestAFullOutputIsToldOnce(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	for _, command := range []string{"migrate up", "outbox on"} {
		if r := invoke(t, append(strings.Fields(command), "--database-url", file)...); r.code != 0 {
			t.Fatal(r.err)
		}
	}
	of := " --database-url " + file
	for _, command := range []string{
		"--help", "serve --help", "--version", "completion bash", "key new --name a --scope buyer", "migrate status" + of, "migrate up" + of, "audit" + of,
		"audit --json" + of, "prune --before 2026-01-31T00:00:00Z" + of, "outbox on" + of, "outbox status" + of, "outbox status --json" + of,
		"demo --stock 1 --buyers 1", "demo --json --stock 1 --buyers 1",
	} {
		var errs busytest.Log
		code := run(t.Context(), strings.Fields(command), cli.Streams{Out: full{}, Err: &errs})
		r := result{code, "", errs.String()}
		oneLine(t, r, errFull.Error())
		if told := strings.Count(r.err, errFull.Error()); told != 1 {
			t.Errorf("%s: the reason is told %d times: %s", command, told, r.err)
		}
	}
}
