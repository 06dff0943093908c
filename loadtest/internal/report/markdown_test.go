package report

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	d := Document{
		Scenario: "chaos", Environment: Environment{{"system", "linux/amd64"}, {"Go", "go1.26"}}, Seed: 7,
		Summary: []string{"It went well."}, Warnings: []string{"a short run"},
		Sections: []Section{{
			Name: "the last 1%", Plots: []Plot{{Name: "left", Title: "What is left [units]"}},
			Table:   &Table{[]string{"", "a|b"}, [][]string{{"<x>", "1"}}},
			Targets: []Target{AtMost("stranded", 0, 0)}, Notes: []string{"one note"},
		}, {Name: "empty"}, {Name: "details", Table: &Table{[]string{"", "c"}, [][]string{{"x", "1"}}}, Detail: true}},
	}
	want := "# chaos\n\n`go run ./loadtest chaos --seed=7` made this page.\n" + `
- It went well.
- WARNING: a short run

## the last 1%

|  | a\|b |
|---|---:|
| \<x> | 1 |

- one note

## empty

## targets

✓ 1 met

- the last 1%: ✓ met: stranded: 0 (target: at most 0)

- audit: OK
- system linux/amd64; Go go1.26.
`
	if got := d.markdown(t); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d.Wrong = []string{"1 unit is missing"}
	if got := d.markdown(t); !strings.Contains(got, "- audit: FAILED\n  - 1 unit is missing\n") {
		t.Error(got)
	}
}

// markdown is the document as Markdown.
func (d Document) markdown(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	if err := d.WriteMarkdown(&text, ""); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
