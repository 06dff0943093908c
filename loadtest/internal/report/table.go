package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// padding is between the columns of a printed table.
const padding = 2

// Print prints the table for a person.
func (t Table) Print(to *strings.Builder) {
	table := tabwriter.NewWriter(to, 0, 0, padding, ' ', tabwriter.AlignRight)
	for _, row := range t.lines() {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
	}
	_ = table.Flush() // writing to a builder does not fail
}

// Markdown is the table for a document.
func (t Table) Markdown() string {
	var text strings.Builder
	for n, row := range t.lines() {
		text.WriteString("|")
		for _, cell := range row {
			fmt.Fprintf(&text, " %s |", escaped(cell, "|<"))
		}
		text.WriteString("\n")
		if n == 0 {
			fmt.Fprintf(&text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
	}
	return text.String()
}

// lines are the header and the rows.
func (t Table) lines() [][]string { return slices.Concat([][]string{t.Columns}, t.Rows) }

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
