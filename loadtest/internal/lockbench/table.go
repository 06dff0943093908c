package lockbench

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/report"
)

// table has a row for each contender.
func (c Case) table() *report.Table {
	extras := c.extras()
	table := &report.Table{Columns: c.header(extras)}
	for _, contender := range c.Contenders {
		table.Rows = append(table.Rows, c.row(contender, extras))
	}
	return table
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
		contender.Name, humanize.Comma(int64(f[PerSecond])), "-", report.Number(f[WaitP50]), report.Number(f[WaitP99]), report.Number(f[WaitMax]),
		fmt.Sprintf("%.3f", f[Fairness]), fmt.Sprintf("%.2f", f[Commands]), fmt.Sprintf("%.2f", f[Seconds]),
		fmt.Sprintf("%.0f", f[Violations]),
	}
	if best := c.bestPeer(PerSecond)[PerSecond]; best > 0 {
		cells[2] = fmt.Sprintf("%.2f", f[PerSecond]/best)
	}
	for _, name := range extras {
		cell := "-"
		if value, has := f[name]; has {
			cell = report.Number(value)
		}
		cells = append(cells, cell)
	}
	return cells
}
