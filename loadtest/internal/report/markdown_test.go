package report

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	d := Document{
		Scenario: "chaos", Environment: Environment{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26"}, Seed: 7,
		Summary: []string{"It went well."}, Warnings: []string{"a short run"},
		Sections: []Section{{
			Name:    "the last 1%",
			Table:   &Table{[]string{"", "a|b"}, [][]string{{"<x>", "1"}}},
			Targets: []Target{AtMost("stranded", 0, 0)}, Notes: []string{"one note"},
		}, {Name: "empty"}},
	}
	want := "# chaos\n\n`go run ./loadtest chaos --seed=7` made this page.\n" + `
- It went well.
- WARNING: a short run

## the last 1%

|  | a\|b |
|---|---:|
| \<x> | 1 |

- stranded: 0 (target: at most 0), met
- one note

## empty

- audit: OK
- linux/amd64, 2 processors for all; go1.26.
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
	if err := d.WriteMarkdown(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestCommandRepeatsTheRun(t *testing.T) {
	t.Parallel()
	d := Document{Scenario: "flash-sale", Seed: 42, Flags: []Flag{
		{"stock", "10000"},
		{"segments", "10"},
		{"rate", "5000"},
		{"quick", "false"},
		{"private-servers", "true"},
		{"arrivals", "my file.csv"},
		{"seed", "0"},
		{"url", ""},
		{"note", "it's"},
	}}
	want := `go run ./loadtest flash-sale --stock=10000 --segments=10 --rate=5000 --private-servers '--arrivals=my file.csv' '--note=it'\''s' --seed=42`
	if got := strings.Join(d.Command(), " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
