package flashsale

import (
	"fmt"
	"slices"

	"inventory/loadtest/internal/report"
)

// mostLines is how many segments are drawn each by itself.
const mostLines = 12

// stockSection draws the stock of the typical round.
func (s *sale) stockSection() report.Section {
	r := s.typical()
	left := report.Series{Name: "all segments"}
	for _, sample := range r.samples {
		left.X, left.Y = append(left.X, sample.at.Seconds()), append(left.Y, float64(sample.left))
	}
	over := func(name, title string, series ...report.Series) report.Plot {
		return report.Plot{
			Name: name, Title: title, Kind: report.Lines, X: report.Axis{Label: seconds}, Y: report.Axis{Label: "units"},
			Series: series, Marks: s.marks(r),
		}
	}
	return report.Section{
		Name: "Stock",
		Plots: []report.Plot{
			over("stock-left", "Units left over time", left),
			over("segments", "Units left in each segment", r.segmentLines()...),
		},
		Notes: []string{fmt.Sprintf("%d readings of the SKU, one every %v; %d deductions took from several segments",
			len(r.samples), look, r.balance.Merges)},
	}
}

// segmentLines is a line for each segment, or for the least, the median and the most where they are many.
func (r *round) segmentLines() []report.Series {
	if len(r.samples) == 0 {
		return nil
	}
	many := len(r.samples[0].segments) > mostLines
	lines := make([]report.Series, len(r.samples[0].segments))
	for n := range lines {
		lines[n].Name = fmt.Sprintf("segment %d", n)
	}
	if many {
		lines = []report.Series{{Name: "least"}, {Name: "median"}, {Name: "most"}}
	}
	for _, sample := range r.samples {
		units := sample.segments
		if many {
			sorted := slices.Sorted(slices.Values(units))
			units = []int64{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
		}
		for n := range min(len(lines), len(units)) {
			lines[n].X, lines[n].Y = append(lines[n].X, sample.at.Seconds()), append(lines[n].Y, float64(units[n]))
		}
	}
	return lines
}
