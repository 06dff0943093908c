package contenders

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
)

// Print prints a table for each case, which targets were met, and what the audit found.
func (r Result) Print(to io.Writer) error {
	var text strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&text, "%s\n", c.Name)
		if err := c.table().Print(&text); err != nil {
			return err
		}
		for _, line := range c.remarks() {
			fmt.Fprintf(&text, "  %s\n", line)
		}
		for _, t := range c.Targets {
			fmt.Fprintf(&text, "  %s\n", t)
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "%s\n", r.Environment)
	_, err := io.WriteString(to, text.String())
	return err
}

// Markdown returns the tables of all cases, each with its targets.
func (r Result) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\n", r.Environment)
	for _, c := range r.Cases {
		fmt.Fprintf(&text, "\n### %s\n\n%s\n", c.Name, c.table().Markdown())
		for _, t := range c.Targets {
			fmt.Fprintln(&text, t.Markdown())
		}
		for _, line := range c.remarks() {
			fmt.Fprintf(&text, "- %s\n", line)
		}
	}
	text.WriteString("\n")
	return text.String()
}

// Into returns a document with the result in place of an earlier one, and with what stands around it.
func (r Result) Into(document string) string {
	return compare.Into(document, "contenders", r.Markdown())
}

// remarks are what the audit found, and what went wrong.
func (c Case) remarks() (lines []string) {
	for _, e := range c.Entries {
		if e.Note != "" {
			lines = append(lines, fmt.Sprintf("note: %s, %d: %s", e.Name, e.Callers, e.Note))
		}
	}
	if len(c.Wrong) == 0 {
		return append(lines, fmt.Sprintf("audit of %d SKUs: OK", c.SKUs))
	}
	for _, wrong := range c.Wrong {
		lines = append(lines, "audit: "+wrong)
	}
	return lines
}

// table has a row for each contender.
func (c Case) table() compare.Table {
	who := "callers"
	if c.http {
		who = "connections"
	}
	table := compare.Table{{
		"", who, "accepted/s", "answers/s", "least to most", "x " + c.ratio, "p50 ms", "p99 ms", "accepted", "replayed", "refused", "gave up", "rows",
	}}
	for _, e := range c.Entries {
		table = append(table, []string{
			e.Name, humanize.Comma(int64(e.Callers)), compare.Number(e.Accepted), compare.Number(e.Answers),
			compare.Number(e.Spread.Least) + " to " + compare.Number(e.Spread.Most), fmt.Sprintf("%.3g", e.Ratio),
			compare.Number(e.P50), compare.Number(e.P99), humanize.Comma(e.Counts.Accepted), humanize.Comma(e.Replayed),
			humanize.Comma(e.Refused), humanize.Comma(e.GaveUp), humanize.Comma(e.Rows),
		})
	}
	return table
}
