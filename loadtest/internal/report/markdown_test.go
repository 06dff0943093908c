package report

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	d := Document{
		Scenario: "tail", Environment: Environment{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26"}, AuditOK: true,
		Sections: []Section{{
			Name: "the last 1%", Plots: []Plot{{Name: "left", Title: "What is left [units]"}},
			Table:   &Table{[]string{"", "a|b"}, [][]string{{"<x>", "1"}}},
			Targets: []Target{AtMost("stranded", 0, 0)}, Notes: []string{"one note"},
		}, {Name: "empty"}},
	}
	want := `linux/amd64, 2 processors for all; go1.26.

### the last 1%

![What is left \[units\]](plots/left.svg)

|  | a\|b |
|---|---:|
| \<x> | 1 |

- stranded: 0 (target: at most 0), met
- one note

### empty

- audit: OK
`
	if got := d.Markdown("plots/"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d.AuditOK, d.Wrong = false, []string{"1 unit is missing"}
	got := d.Markdown("")
	if strings.Contains(got, "![") || !strings.HasSuffix(got, "- audit: FAILED\n  - 1 unit is missing\n") {
		t.Error(got)
	}
}

// TestABriefTellsWhatIsMissed: targets that are met or undecided are counted, and stand on the page of all tables.
func TestABriefTellsWhatIsMissed(t *testing.T) {
	t.Parallel()
	targets := []Target{AtMost("stranded", 0, 0), AtLeast("sold", 1, 2), AtLeast("known", 1, 1).Within(0, 2)}
	d := Document{
		Summary: []string{Verdict(targets), "It went well."},
		Sections: []Section{
			{Name: "first", Table: &Table{[]string{"", "a", "b", "c", "d"}, [][]string{{"x", "1", "2", "3", "4"}}}, Targets: targets[:1], Notes: []string{"long"}},
			{Name: "second", Targets: targets[1:]},
		},
	}
	got := d.Brief("plots", "all.md")
	want := `- It went well.

### first

|  | a | b | c |
|---|---:|---:|---:|
| x | 1 | 2 | 3 |

- 1 of 3 targets are met, 1 undecided.
- sold: 1 (target: at least 2), **missed**

[All tables and plots, and the machine](all.md)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
