package report

import (
	"math"
	"strings"
)

const (
	barHeight  = 13.0
	valueWidth = 52.0 // for the number behind a bar
)

// drawBars draws a group of bars for each category, below its name. They lie, because names are long.
func (p Plot) drawBars(d *drawing, classes []string) {
	var values []float64
	for _, s := range p.Series {
		values = append(values, s.Y...)
	}
	d.label(0, "start", p.X.Label)
	group := gap + rowHeight + float64(len(p.Series))*(barHeight+1)
	f := frame{x: p.Y.scale(values, true), right: paperWidth - valueWidth, top: d.height}
	f.bottom = f.top + gap + float64(max(1, len(p.Categories)))*group
	f.across(d, p.Y.Label)
	origin := 0.0
	if f.x.has(0) {
		origin = f.x.at(0, 0, f.right)
	}
	d.stroke("axis", origin, f.top, origin, f.bottom)
	for i, category := range p.Categories {
		top := f.top + float64(i)*group + gap + rowHeight
		d.text(0, top-5, "start", "", shorten(category, paperWidth))
		for j, series := range p.Series {
			if i < len(series.Y) {
				f.bar(d, origin, top+float64(j)*(barHeight+1), series.Y[i], classes[j], strings.Trim(category+", "+series.Name, ", "))
			}
		}
	}
	if len(p.Categories) == 0 {
		f.empty(d)
	}
}

// bar draws a value, and writes it behind.
func (f frame) bar(d *drawing, origin, top, value float64, class, name string) {
	end := origin
	if f.x.has(value) {
		end = f.x.at(value, 0, f.right)
		d.hints = append(d.hints, hint{math.Round(end), math.Round(top + barHeight/2), name + ": " + Number(value)})
		d.box("bar "+class, min(origin, end), top, max(origin, end)-min(origin, end), barHeight)
	}
	d.text(max(origin, end)+gap/2, top+barHeight-3, "start", "value", Number(value))
}
