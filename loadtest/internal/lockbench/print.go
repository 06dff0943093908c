package lockbench

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
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

// table has a row for each contender.
func (c Case) table() compare.Table {
	extras := c.extras()
	table := compare.Table{c.header(extras)}
	for _, contender := range c.Contenders {
		table = append(table, c.row(contender, extras))
	}
	return table
}

// print prints the table.
func (c Case) print(to io.Writer) error {
	if err := c.table().Print(to); err != nil {
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
		contender.Name, humanize.Comma(int64(f[PerSecond])), "-", compare.Number(f[WaitP50]), compare.Number(f[WaitP99]), compare.Number(f[WaitMax]),
		fmt.Sprintf("%.3f", f[Fairness]), fmt.Sprintf("%.2f", f[Commands]), fmt.Sprintf("%.2f", f[Seconds]),
		fmt.Sprintf("%.0f", f[Violations]),
	}
	if best := c.bestPeer(PerSecond)[PerSecond]; best > 0 {
		cells[2] = fmt.Sprintf("%.2f", f[PerSecond]/best)
	}
	for _, name := range extras {
		cell := "-"
		if value, has := f[name]; has {
			cell = compare.Number(value)
		}
		cells = append(cells, cell)
	}
	return cells
}
