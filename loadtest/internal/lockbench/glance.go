package lockbench

import (
	"fmt"
	"math"
	"strings"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
)

// fair is the least of Jain's index at which callers count as served alike.
const fair = 0.95

// glance says of each lock, over all cases, how fast, fair and safe it is, and in three sentences who is fastest, fairest and safe.
func glance(results []experiment.Result, all []kinds.Kind) (section report.Section, sentences []string) {
	table := &report.Table{Columns: []string{""}}
	var fastest, fairest, safe []string
	for _, r := range results {
		table.Columns = append(table.Columns, r.Name)
		if most := fastestOf(r); most != "" {
			fastest = append(fastest, fmt.Sprintf("%s with %s", most, r.Name))
		}
	}
	table.Columns = append(table.Columns, "longest wait ms", "least Jain's index", "safe")
	notes := []string{"for each crowd: acquisitions a second; ★ is the fastest"}
	for _, k := range all {
		row := []string{k.Name}
		longest, least, both := math.NaN(), math.NaN(), 0.0
		for _, r := range results {
			of := func(metric string) float64 { return r.Of(k.Name, metric).Value }
			star := map[bool]string{true: "★ "}[fastestOf(r) == k.Name]
			row = append(row, star+report.Number(of(perSecond)))
			longest, least = larger(longest, of(waitMax)), -larger(-least, -of(fairness))
			if n := of(violations); n > 0 {
				both += n
			}
		}
		row = append(row, report.Number(longest), report.Number(least), report.Good+" as far as is known")
		if least >= fair {
			row[len(row)-2] = report.Good + " " + report.Number(least)
			fairest = append(fairest, k.Name)
		}
		switch {
		case both > 0:
			row[len(row)-1] = fmt.Sprintf("%s let two in, %s", report.Bad, report.Count(int(both), "time"))
		case k.Flaw != "":
			row[len(row)-1] = report.Bad + " has a flaw"
		default:
			safe = append(safe, k.Name)
		}
		if k.Flaw != "" {
			notes = append(notes, k.Name+": "+k.Flaw)
		}
		table.Rows = append(table.Rows, row)
	}
	list := func(names []string) string { return strings.Join(append(names, "none")[:max(1, len(names))], ", ") }
	notes = append(notes, "--break shows the flaws of locks on Redis")
	return report.Section{Name: "who is fastest, fairest and safe", Table: table, Notes: notes}, []string{
		"Fastest: " + list(fastest) + ".",
		fmt.Sprintf("Fairest, with Jain's index of at least %g in every crowd: %s.", fair, list(fairest)),
		"Safe, as far as is known: " + list(safe) + ".",
	}
}

// fastestOf is the lock with most acquisitions; "": there is none.
func fastestOf(r experiment.Result) string {
	return r.Most(perSecond, func(c experiment.Contender) bool { return c.Name != sleeping })
}

// larger is the larger of two numbers; what is no number is none.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}
