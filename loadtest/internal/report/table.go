package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// Print prints the table for a person.
func (t Table) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	for row := range t.lines() {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")+"\t"); err != nil {
			return err
		}
	}
	return table.Flush()
}

// Markdown is the table for a document.
func (t Table) Markdown() string {
	var text strings.Builder
	first := true
	for row := range t.lines() {
		text.WriteString("|")
		for _, cell := range row {
			fmt.Fprintf(&text, " %s |", escaped(cell, "|<"))
		}
		text.WriteString("\n")
		if first {
			fmt.Fprintf(&text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
		first = false
	}
	return text.String()
}

// first is the table with so many columns at most.
func (t Table) first(columns int) *Table {
	out := &Table{Columns: t.Columns[:min(columns, len(t.Columns))]}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, row[:min(columns, len(row))])
	}
	return out
}

// lines are the header and the rows.
func (t Table) lines() func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		if !yield(t.Columns) {
			return
		}
		for _, row := range t.Rows {
			if !yield(row) {
				return
			}
		}
	}
}

// mostTold is further from 0 than any figure of a run.
const mostTold = 1e18

// Number is short, and has three digits where it is small. What is no number is a dash.
func Number(value float64) string {
	switch size := math.Abs(value); {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return "-"
	case size == 0 || size >= 100 && size <= mostTold:
		return humanize.Comma(int64(math.Round(value)))
	}
	return fmt.Sprintf("%.3g", value)
}
