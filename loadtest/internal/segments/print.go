package segments

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
)

// part is a case as it is told.
type part struct {
	name    string
	table   compare.Table
	targets []compare.Target
}

// parts are the cases that were measured.
func (r Result) parts() (all []part) {
	if r.Segments != nil {
		all = append(all, part{matrixCase, matrixTable(r.Segments), nil})
	}
	if r.Stopped != nil {
		all = append(all, part{stoppedCase, r.Stopped.table(), r.Stopped.targets})
	}
	if r.Overload != nil {
		all = append(all, part{overloadCase, r.Overload.table(), r.Overload.targets})
	}
	return all
}

// Print prints a table for each case, which targets were met, and what the audit found.
func (r Result) Print(to io.Writer) error {
	var text strings.Builder
	for _, p := range r.parts() {
		fmt.Fprintf(&text, "%s\n", p.name)
		if err := p.table.Print(&text); err != nil {
			return err
		}
		for _, t := range p.targets {
			fmt.Fprintf(&text, "  %s\n", t)
		}
		text.WriteString("\n")
	}
	for _, line := range r.audit() {
		fmt.Fprintln(&text, line)
	}
	fmt.Fprintln(&text, r.Environment)
	_, err := io.WriteString(to, text.String())
	return err
}

// Into returns a document with the result in place of an earlier one, and with what stands around it.
func (r Result) Into(document string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\n", r.Environment)
	for _, p := range r.parts() {
		fmt.Fprintf(&text, "\n### %s\n\n%s\n", p.name, p.table.Markdown())
		for _, t := range p.targets {
			fmt.Fprintln(&text, t.Markdown())
		}
	}
	text.WriteString("\n")
	for _, line := range r.audit() {
		fmt.Fprintf(&text, "- %s\n", line)
	}
	text.WriteString("\n")
	return compare.Into(document, "segments", text.String())
}

// audit is what the audit found.
func (r Result) audit() (lines []string) {
	if r.AuditOK() {
		return []string{fmt.Sprintf("audit of %d SKUs: OK", r.SKUs)}
	}
	for _, wrong := range r.Wrong {
		lines = append(lines, "audit: "+wrong)
	}
	return lines
}

func matrixTable(entries []Entry) compare.Table {
	table := compare.Table{{
		"segments", "processes", "accepted/s", "least to most", "x 1 process", "x 1 segment", "p50 ms", "p99 ms", "shares", "Jain",
		"merges", "orders a batch", "lock waits", "mean ms", "unlocked",
	}}
	for _, e := range entries {
		table = append(table, []string{
			strconv.Itoa(e.Segments), strconv.Itoa(e.Processes), compare.Number(e.Accepted),
			compare.Number(e.Spread.Least) + " to " + compare.Number(e.Spread.Most),
			fmt.Sprintf("%.2f", e.ToOneProcess), fmt.Sprintf("%.2f", e.ToOneSegment), compare.Number(e.P50), compare.Number(e.P99),
			percentages(e.Shares), fmt.Sprintf("%.3f", e.Jain), humanize.Comma(e.Merges), compare.Number(e.BatchOrders),
			percentage(e.LockWaitShare), compare.Number(e.LockWaitMean), percentage(e.Unlocked),
		})
	}
	return table
}

func percentage(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

func percentages(shares []float64) string {
	var all []string
	for _, share := range shares {
		all = append(all, percentage(share))
	}
	return strings.Join(all, " ")
}

func (s *Stopped) table() compare.Table {
	return compare.Table{
		{
			"segments", "stopped for s", "before/s", "while/s", "after/s", "two alone/s", "while x two", "after x two", "back after s",
			"its share after", "others' longest wait ms", "accepted", "refused",
		},
		{
			strconv.Itoa(s.Segments), compare.Number(s.StillFor), compare.Number(s.Before), compare.Number(s.While), compare.Number(s.After),
			compare.Number(s.Two), fmt.Sprintf("%.2f", s.WhileToTwo), fmt.Sprintf("%.2f", s.AfterToTwo), compare.Number(s.Back), percentage(s.Share),
			compare.Number(s.OthersMax), humanize.Comma(s.Accepted), humanize.Comma(s.Refused),
		},
	}
}

func (o *Overload) table() compare.Table {
	return compare.Table{
		{
			"segments", "capacity/s", "offered/s", "goodput/s", "x capacity", "least to most", "p50 ms before", "p99 ms", "p50 ms meanwhile",
			"p99 ms", "refused p50 ms", "p99 ms", "back after s", "accepted", "refused", "unknown",
		},
		{
			strconv.Itoa(o.Segments), compare.Number(o.Capacity), compare.Number(o.Offered), compare.Number(o.Goodput),
			fmt.Sprintf("%.2f", o.ToCapacity), fmt.Sprintf("%.2f to %.2f", o.Spread.Least, o.Spread.Most),
			compare.Number(o.CalmP50), compare.Number(o.CalmP99), compare.Number(o.P50), compare.Number(o.P99),
			compare.Number(o.RefusedP50), compare.Number(o.RefusedP99), compare.Number(o.Back),
			humanize.Comma(o.Accepted), humanize.Comma(o.Refused), humanize.Comma(o.Unknown),
		},
	}
}
