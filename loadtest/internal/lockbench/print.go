package lockbench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// leftOut is told with every result.
const leftOut = "rueidislock is not among the peers: its module could not be had where this was made."

// Print prints a table for each case, and which targets were met.
func (r Result) Print(to io.Writer) error {
	var text strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&text, "%s\n", c.Name)
		if err := c.print(&text); err != nil {
			return err
		}
		for _, t := range c.Targets() {
			fmt.Fprintf(&text, "  %s\n", t)
		}
		text.WriteString("\n")
	}
	fmt.Fprintln(&text, leftOut)
	_, err := io.WriteString(to, text.String())
	return err
}

// rows are the header, and a row for each contender.
func (c Case) rows() [][]string {
	extras := c.extras()
	rows := [][]string{c.header(extras)}
	for _, contender := range c.Contenders {
		rows = append(rows, c.row(contender, extras))
	}
	return rows
}

// print prints the table.
func (c Case) print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range c.rows() {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")+"\t"); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, contender := range c.Contenders {
		if contender.Note != "" {
			if _, err := fmt.Fprintf(to, "  note: %s: %s\n", contender.Name, contender.Note); err != nil {
				return err
			}
		}
	}
	return nil
}

// extras are the figures of the case that not every case has.
func (c Case) extras() (names []string) {
	seen := map[string]bool{}
	for _, contender := range c.Contenders {
		for _, name := range contender.extras() {
			if !seen[name] {
				names = append(names, name)
			}
			seen[name] = true
		}
	}
	return names
}

func (c Case) header(extras []string) []string {
	header := []string{
		"", "per second", "x best peer", "wait p50 ms", "p99 ms", "max ms", "Jain", "commands", "seconds", "violations",
	}
	for _, name := range extras {
		header = append(header, strings.ReplaceAll(name, "_", " "))
	}
	return header
}

func (c Case) row(contender Contender, extras []string) []string {
	f := contender.Figures
	cells := []string{
		contender.Name, humanize.Comma(int64(f[PerSecond])), "-", number(f[WaitP50]), number(f[WaitP99]), number(f[WaitMax]),
		fmt.Sprintf("%.3f", f[Fairness]), fmt.Sprintf("%.2f", f[Commands]), fmt.Sprintf("%.2f", f[Seconds]),
		fmt.Sprintf("%.0f", f[Violations]),
	}
	if best := c.bestPeer(PerSecond)[PerSecond]; best > 0 {
		cells[2] = fmt.Sprintf("%.2f", f[PerSecond]/best)
	}
	for _, name := range extras {
		cell := "-"
		if value, has := f[name]; has {
			cell = number(value)
		}
		cells = append(cells, cell)
	}
	return cells
}

// number is short, and has three digits where it is small.
func number(value float64) string {
	if value >= 100 || value == 0 {
		return humanize.Comma(int64(value + 0.5))
	}
	return fmt.Sprintf("%.3g", value)
}
