package segments

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/report"
)

func matrixTable(entries []Entry) *report.Table {
	table := &report.Table{Columns: []string{
		"segments", "processes", "accepted/s", "least to most", "x 1 process", "x 1 segment", "p50 ms", "p99 ms", "shares", "Jain",
		"merges", "orders a batch", "lock waits", "mean ms", "unlocked",
	}}
	for _, e := range entries {
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(e.Segments), strconv.Itoa(e.Processes), report.Number(e.Accepted),
			report.Number(e.Spread.Least) + " to " + report.Number(e.Spread.Most),
			fmt.Sprintf("%.2f", e.ToOneProcess), fmt.Sprintf("%.2f", e.ToOneSegment), report.Number(e.P50), report.Number(e.P99),
			percentages(e.Shares), fmt.Sprintf("%.3f", e.Jain), humanize.Comma(e.Merges), report.Number(e.BatchOrders),
			percentage(e.LockWaitShare), report.Number(e.LockWaitMean), percentage(e.Unlocked),
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

func (s *Stopped) table() *report.Table {
	return &report.Table{
		Columns: []string{
			"segments", "stopped for s", "before/s", "while/s", "after/s", "two alone/s", "while x two", "after x two", "back after s",
			"its share after", "others' longest wait ms", "accepted", "refused",
		},
		Rows: [][]string{{
			strconv.Itoa(s.Segments), report.Number(s.StillFor), report.Number(s.Before), report.Number(s.While), report.Number(s.After),
			report.Number(s.Two), fmt.Sprintf("%.2f", s.WhileToTwo), fmt.Sprintf("%.2f", s.AfterToTwo), report.Number(s.Back), percentage(s.Share),
			report.Number(s.OthersMax), humanize.Comma(s.Accepted), humanize.Comma(s.Refused),
		}},
	}
}

func (o *Overload) table() *report.Table {
	return &report.Table{
		Columns: []string{
			"segments", "capacity/s", "offered/s", "goodput/s", "x capacity", "least to most", "p50 ms before", "p99 ms", "p50 ms meanwhile",
			"p99 ms", "refused p50 ms", "p99 ms", "back after s", "accepted", "refused", "unknown",
		},
		Rows: [][]string{{
			strconv.Itoa(o.Segments), report.Number(o.Capacity), report.Number(o.Offered), report.Number(o.Goodput),
			fmt.Sprintf("%.2f", o.ToCapacity), fmt.Sprintf("%.2f to %.2f", o.Spread.Least, o.Spread.Most),
			report.Number(o.CalmP50), report.Number(o.CalmP99), report.Number(o.P50), report.Number(o.P99),
			report.Number(o.RefusedP50), report.Number(o.RefusedP99), report.Number(o.Back),
			humanize.Comma(o.Accepted), humanize.Comma(o.Refused), humanize.Comma(o.Unknown),
		}},
	}
}
