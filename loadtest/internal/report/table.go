package report

import (
	"fmt"
	"io"
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
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
		if first {
			fmt.Fprintf(&text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
		first = false
	}
	return text.String()
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

// Number is short, and has three digits where it is small.
func Number(value float64) string {
	if value >= 100 || value == 0 {
		return humanize.Comma(int64(value + 0.5))
	}
	return fmt.Sprintf("%.3g", value)
}
