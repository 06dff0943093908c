package contenders

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/report"
)

// table has a row for each contender.
func (c Case) table() *report.Table {
	table := &report.Table{Columns: []string{
		"", c.who(), "accepted/s", "answers/s", "least to most", "x " + c.ratio, "p50 ms", "p99 ms", "accepted", "replayed", "refused", "gave up", "rows",
	}}
	for _, e := range c.Entries {
		table.Rows = append(table.Rows, []string{
			e.Name, humanize.Comma(int64(e.Callers)), report.Number(e.Accepted), report.Number(e.Answers),
			report.Number(e.Spread.Least) + " to " + report.Number(e.Spread.Most), fmt.Sprintf("%.3g", e.Ratio),
			report.Number(e.P50), report.Number(e.P99), humanize.Comma(e.Counts.Accepted), humanize.Comma(e.Replayed),
			humanize.Comma(e.Refused), humanize.Comma(e.GaveUp), humanize.Comma(e.Rows),
		})
	}
	return table
}

// who are those of whom there are several at once.
func (c Case) who() string {
	if c.http {
		return "connections"
	}
	return "callers"
}

// crowd is so many of them.
func (c Case) crowd(n int) string {
	if n == 1 {
		return "1 " + strings.TrimSuffix(c.who(), "s")
	}
	return humanize.Comma(int64(n)) + " " + c.who()
}
