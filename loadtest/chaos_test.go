package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/report"
)

// promisesOfTime are those that a process breaks which stands still for longer than the lab allows: it tells old news, or
// writes for a caller that is long gone. Busy machines have such processes, so the promises are not held to here.
var promisesOfTime = regexp.MustCompile(`^(seed \d+: (not final|false refusal|stranded|too early|too late|late): |play it again: )`)

// playChaos plays a short round as a person does. On any machine the rows have to be those of the answers.
func playChaos(t *testing.T, args ...string) (d report.Document, printed string) {
	t.Helper()
	result := filepath.Join(t.TempDir(), "result.json")
	out, err := program(t, append([]string{"chaos", "--rounds=1", "--json", result}, args...)...).CombinedOutput()
	text := readFile(t, result)
	if text == "" {
		t.Fatalf("%v: no report\n%s", err, out)
	}
	if d = readReport(t, text); (err == nil) != d.AuditOK() {
		t.Fatalf("%v, wrong: %q\n%s", err, d.Wrong, out)
	}
	for _, wrong := range d.Wrong {
		if !promisesOfTime.MatchString(wrong) {
			t.Errorf("wrong: %s", wrong)
		}
	}
	return d, string(out)
}

// TestChaosStartsItself breaks the processes as which the lab starts itself.
func TestChaosStartsItself(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	d, _ := playChaos(t, "--length=4s")
	rounds := d.Sections[2].Table
	if d.Scenario != "chaos" || d.Seed == 0 || len(rounds.Rows) != 1 {
		t.Fatalf("rounds %q, want one", rounds.Rows)
	}
	count := func(column string) string { return rounds.Rows[0][slices.Index(rounds.Columns, column)] }
	isBusy := count("attempts") != count("operations") // callers hung up and asked again
	if count("faults") == "0" || count("accepted") == "0" && !isBusy {
		t.Errorf("got %q, want faults, and accepted orders unless the machine is busy", rounds.Rows)
	}
	for _, promise := range d.Sections[0].Table.Rows {
		if promise[1] == "0" && promise[2] == "✓ yes" { // little is tried in so short a time
			t.Errorf("got %q, want a promise that nobody tried not to be told as held", promise)
		}
	}
	if course := d.Sections[1].Plots[0]; len(course.Marks) == 0 || course.Marks[0].To <= course.Marks[0].X {
		t.Errorf("got %+v, want a shade for each fault", course.Marks)
	}
}

// TestChaosWithoutFaults tells what grows.
func TestChaosWithoutFaults(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	d, printed := playChaos(t, "--fault=none", "--length=2s")
	verdict := map[bool]string{true: "No promise was broken.", false: "Promises were broken "}[d.AuditOK()]
	for _, says := range []string{verdict, "amid 0 faults", "\ngrowth\n", "resident memory, MB", "tables grew by", "What the machine did"} {
		if !strings.Contains(printed, says) {
			t.Errorf("no %q in\n%s", says, printed)
		}
	}
}
