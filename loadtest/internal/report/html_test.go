package report

import (
	"regexp"
	"strings"
	"testing"
)

// html is the document as a page.
func (d Document) html(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	if err := d.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestPageTellsEverything(t *testing.T) {
	t.Parallel()
	d := sample()
	d.Interrupted, d.Wrong = true, []string{"10001 units sold of 10000"}
	page := d.html(t)
	if again := d.html(t); again != page {
		t.Error("the page is written in two ways")
	}
	for _, p := range d.plots() {
		if !strings.Contains(page, `role="img" aria-label="`+p.Title+`"`) {
			t.Errorf("no plot %s", p.Name)
		}
	}
	for _, want := range []string{
		`<h1>flash-sale</h1>`, "1 November 2026", "1m2.4s", "10,000 units sold out", "The generator lagged", "The run was interrupted",
		"✗ audit FAILED", "10001 units sold of 10000", "✓ 1 met</span>", "✗ 1 missed</span>", "✓ met", "✗ missed", "? undecided", "(at least 20,000)", `<a href="#targets">`,
		"<dd>61.2 <span>ms</span></dd>", `<h2 id="section-1">latency</h2>`, `<td>98.8</td>`, "Each point is a quarter",
		"AMD EPYC 7B13", "3f129bedc0de", "<dt>arrivals</dt><dd>my file.csv</dd>", "--seed=42", "The seed 42",
		`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestPageOfNothing(t *testing.T) {
	t.Parallel()
	page := Document{Scenario: "locks"}.html(t)
	for _, unwanted := range []string{"Warnings", "Targets", "Figures", "<nav", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("%q in %s", unwanted, page)
		}
	}
}

func TestPageAsksForNothing(t *testing.T) {
	t.Parallel()
	page := sample().html(t)
	references := regexp.MustCompile(`(?i)(src|href|action|data|poster|srcset)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import`)
	for _, reference := range references.FindAllString(page, -1) {
		if reference != `href="data:,"` && !strings.HasPrefix(reference, `href="#`) {
			t.Errorf("the page refers to %s", reference)
		}
	}
	for _, unwanted := range []string{"http://", "https://", "<img", "<iframe", "<link rel=\"style"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("%s is in the page", unwanted)
		}
	}
}

// TestPageEscapes puts an attacker's text into every name, as a replayed file could.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	const evil = `"></title></style><script>alert(1)</script>`
	page := Document{
		Scenario: evil, Summary: []string{evil}, Warnings: []string{evil}, Wrong: []string{evil},
		Flags: []Flag{{evil, evil}}, Figures: []Figure{{evil, evil, 1}}, Environment: Environment{{evil, evil}},
		Sections: []Section{{
			Name: evil, Notes: []string{evil}, Targets: []Target{AtMost(evil, 2, 1)}, Table: &Table{[]string{evil}, [][]string{{evil, evil}}},
			Plots: []Plot{{
				Name: evil, Title: evil, Kind: Lines, X: Axis{Label: evil}, Series: []Series{{Name: evil, X: []float64{1}, Y: []float64{1}}},
				Marks: []Mark{{X: 1, Label: evil}},
			}},
		}},
	}.html(t)
	if strings.Contains(page, "<script") || strings.Count(page, "</title>") != 1 || strings.Count(page, "</style>") != 1 {
		t.Error(page)
	}
}

func TestCommandRepeatsTheRun(t *testing.T) {
	t.Parallel()
	d := sample()
	d.Flags = append(d.Flags, Flag{"seed", "0"}, Flag{"url", ""}, Flag{"note", "it's"})
	want := `go run ./loadtest flash-sale --stock=10000 --segments=10 --rate=5000 --private-servers '--arrivals=my file.csv' '--note=it'\''s' --seed=42`
	if got := strings.Join(d.Command(), " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
