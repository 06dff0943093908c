package main

import (
	"strings"
	"testing"
)

// TestChaosStartsItself runs a short round as a person does: it starts itself as the processes, and breaks them.
func TestChaosStartsItself(t *testing.T) {
	t.Parallel()
	d, _ := runProgram(t, "chaos", "--rounds=1", "--length=4s")
	if rounds := d.Sections[2].Table.Rows; d.Scenario != "chaos" || d.Seed == 0 || len(rounds) != 1 || rounds[0][3] == "0" || rounds[0][4] == "0" {
		t.Fatalf("wrong: %q, want nothing; rounds %q, want one with accepted orders and faults", d.Wrong, rounds)
	}
	for _, promise := range d.Sections[0].Table.Rows {
		if held := promise[2] == "✓ yes" && promise[1] != "0"; !held && promise[2] != "? not tried" { // little is tried in so short a time
			t.Errorf("got %q", promise)
		}
	}
	if course := d.Sections[1].Plots[0]; len(course.Marks) == 0 || course.Marks[0].To <= course.Marks[0].X {
		t.Errorf("got %+v, want a shade for each fault", course.Marks)
	}
}

// TestChaosWithoutFaults tells what grows.
func TestChaosWithoutFaults(t *testing.T) {
	t.Parallel()
	out, err := program(t, "chaos", "--fault=none", "--rounds=1", "--length=2s").CombinedOutput()
	for _, says := range []string{"No promise was broken.", "amid 0 faults", "\ngrowth\n", "resident memory, MB", "tables grew by", "What the machine did"} {
		if err != nil || !strings.Contains(string(out), says) {
			t.Fatalf("%v: no %q in\n%s", err, says, out)
		}
	}
}
