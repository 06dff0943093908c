package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"gonum.org/v1/gonum/floats"
)

const (
	terminal = 80 // columns of letters that a terminal has at least
	padding  = 2  // between columns of a table
)

// Print prints the table for a person. A wider one than a terminal comes in parts, one below the other.
func (t Table) Print(to *strings.Builder) {
	for i, part := range t.parts(terminal) {
		table := tabwriter.NewWriter(to, 0, 0, padding, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprint(table, strings.Repeat("\n", min(i, 1)))
		for _, row := range part.lines() {
			_, _ = fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
		}
		_ = table.Flush() // writing to a builder does not fail
	}
}

// parts splits the columns so that each part fits into a width. Each begins with the columns that identify rows, or with the
// numbers of the rows where those leave no room.
func (t Table) parts(width float64) (parts []Table) {
	widths, names := t.widths(), t.names()
	if floats.Sum(widths) <= width {
		return []Table{t}
	}
	if names == len(widths) || floats.Sum(widths[:names])+slices.Max(widths[names:]) > width {
		t = t.each(func(n int, row []string) []string {
			return slices.Concat([]string{strings.TrimPrefix(strconv.Itoa(n), "0")}, row) // 0 is the header
		})
		widths, names = t.widths(), 1
	}
	for from := names; from < len(widths); {
		to := from + 1
		for to < len(widths) && floats.Sum(widths[:names])+floats.Sum(widths[from:to+1]) <= width {
			to++
		}
		parts = append(parts, t.each(func(_ int, row []string) []string { return slices.Concat(row[:names], row[from:to]) }))
		from = to
	}
	return parts
}

// names is how many of the first columns identify the rows.
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

// widths are those of the columns, with the padding.
func (t Table) widths() []float64 {
	widths := make([]float64, len(t.Columns))
	for _, row := range t.lines() {
		for i, cell := range row {
			widths[i] = max(widths[i], float64(utf8.RuneCountInString(cell)+padding))
		}
	}
	return widths
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

// each is the table with other cells in each line, of which the header is the first.
func (t Table) each(cells func(n int, line []string) []string) Table {
	lines := t.lines()
	for n, line := range lines {
		lines[n] = cells(n, line)
	}
	return Table{lines[0], lines[1:]}
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
