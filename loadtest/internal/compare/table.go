package compare

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// Table is a header and rows of as many cells.
type Table [][]string

// Print prints the table for a person.
func (t Table) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range t {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")+"\t"); err != nil {
			return err
		}
	}
	return table.Flush()
}

// Markdown is the table for a document.
func (t Table) Markdown() string {
	var text strings.Builder
	for i, row := range t {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
	}
	return text.String()
}

// Number is short, and has three digits where it is small.
func Number(value float64) string {
	if value >= 100 || value == 0 {
		return humanize.Comma(int64(value + 0.5))
	}
	return fmt.Sprintf("%.3g", value)
}
