package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// terminal is how many columns of letters a terminal has at least.
const terminal = 80

// Print prints the table for a person. A wider one than a terminal comes in parts, one below the other.
func (t Table) Print(to io.Writer) error {
	for i, part := range t.parts(terminal) {
		if i > 0 {
			if _, err := fmt.Fprintln(to); err != nil {
				return err
			}
		}
		table := tabwriter.NewWriter(to, 0, 0, padding, ' ', tabwriter.AlignRight)
		for row := range part.lines() {
			if _, err := fmt.Fprintln(table, strings.Join(row, "\t")+"\t"); err != nil {
				return err
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// padding is between columns.
const padding = 2

// parts splits the columns so that each part fits into a width. Each begins with the columns that tell rows apart, or with the
// numbers of the rows where those leave no room.
func (t Table) parts(width int) (parts []Table) {
	widths, names := t.widths(), t.names()
	if sum(widths) <= width {
		return []Table{t}
	}
	if names == len(widths) || sum(widths[:names])+slices.Max(widths[names:]) > width {
		t = t.numbered()
		widths, names = t.widths(), 1
	}
	for from := names; from < len(widths); {
		to := from + 1
		for to < len(widths) && sum(widths[:names])+sum(widths[from:to+1]) <= width {
			to++
		}
		part := Table{}
		for row := range t.lines() {
			row = slices.Concat(row[:names], row[from:to])
			if part.Columns == nil {
				part.Columns = row
			} else {
				part.Rows = append(part.Rows, row)
			}
		}
		parts, from = append(parts, part), to
	}
	return parts
}

// names is how many of the first columns tell the rows apart.
func (t Table) names() int {
	for n := 1; n < len(t.Columns); n++ {
		seen := make(map[string]bool)
		for _, row := range t.Rows {
			seen[strings.Join(row[:n], "\t")] = true
		}
		if len(seen) == len(t.Rows) {
			return n
		}
	}
	return len(t.Columns)
}

// numbered is the table with the numbers of the rows in front.
func (t Table) numbered() (out Table) {
	out.Columns = slices.Concat([]string{""}, t.Columns)
	for i, row := range t.Rows {
		out.Rows = append(out.Rows, slices.Concat([]string{strconv.Itoa(i + 1)}, row))
	}
	return out
}

// widths are those of the columns, with the padding.
func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for row := range t.lines() {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+padding)
		}
	}
	return widths
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
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
