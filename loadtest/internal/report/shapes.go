package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// nothing stands where there is nothing to draw.
const nothing = "nothing was measured"

// drawBars draws a group of bars for each category, below its name. They lie, because names are long.
func (p Plot) drawBars(d *drawing, classes []string) {
	var values []float64
	for _, s := range p.Series {
		values = append(values, s.Y...)
	}
	s := linear(values, true)
	if p.Y.Log {
		s = logarithmic(values, true)
	}
	d.label(0, "start", p.X.Label)
	const right = paperWidth - valueWidth
	origin := 0.0
	if s.has(0) {
		origin = s.at(0, 0, right)
	}
	bottom := d.height + gap + float64(len(p.Categories))*(gap+rowHeight+float64(len(p.Series))*(barHeight+1))
	for _, value := range s.ticks {
		d.stroke("grid", s.at(value, 0, right), d.height, s.at(value, 0, right), bottom)
	}
	d.stroke("axis", origin, d.height, origin, bottom)
	for i, category := range p.Categories {
		d.height += gap
		d.text(0, d.row(), "start", "", shorten(category, paperWidth))
		for j, series := range p.Series {
			if i < len(series.Y) {
				d.bar(s, right, origin, series.Y[i], classes[j], strings.Trim(category+", "+series.Name, ", "))
			}
			d.height += barHeight + 1
		}
	}
	if len(p.Categories) == 0 {
		d.text(paperWidth/2, d.row(), "middle", "value", nothing)
	}
	d.height = max(d.height, bottom)
	d.ticksAlong(s, 0, right, p.Y.Label)
}

// bar draws a value, and writes it behind.
func (d *drawing) bar(s scale, right, origin, value float64, class, name string) {
	end := origin
	if s.has(value) {
		end = s.at(value, 0, right)
		told := d.told(hint{math.Round(end), math.Round(d.height + barHeight/2), name + ": " + Number(value)})
		d.box("bar "+class, told, min(origin, end), d.height, max(origin, end)-min(origin, end), barHeight)
	}
	d.text(max(origin, end)+gap/2, d.height+barHeight-3, "start", "value", Number(value))
}

// frame is the part of the paper between two axes.
type frame struct {
	x, y                     scale
	left, right, top, bottom float64
}

// point is a place on the paper, and what is there.
type point struct{ x, y, at, value float64 }

// drawLines draws a line for each series, broken where it has no place: at what is no number, and on a logarithmic axis at
// what is not above 0.
func (p Plot) drawLines(d *drawing, classes []string) {
	f := p.frame()
	d.label(0, "start", p.Y.Label)
	labels, rows := f.labels(p.Marks)
	f.top = d.height + float64(rows)*rowHeight + gap
	f.bottom = f.top + frameHeight
	f.grid(d)
	for _, l := range labels { // lines first, of which some may pass behind texts
		d.stroke(l.class, l.at, d.height+float64(l.row)*rowHeight+4, l.at, f.bottom)
	}
	for _, l := range labels {
		d.text(l.from, d.height+float64(l.row+1)*rowHeight-5, "start", "mark-label", l.text)
	}
	drawn := false
	for i, s := range p.Series {
		for _, run := range f.runs(s) {
			drawn = true
			d.trace(thin(run), classes[i], s.Name)
		}
	}
	if !drawn {
		d.text((f.left+f.right)/2, (f.top+f.bottom)/2, "middle", "value", nothing)
	}
	d.height = f.bottom
	d.ticksAlong(f.x, f.left, f.right, p.X.Label)
}

// frame has the axes, and what there is to the left of them.
func (p Plot) frame() frame {
	var xs, ys []float64
	for _, s := range p.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	for _, m := range p.Marks {
		xs = append(xs, m.X)
	}
	f := frame{x: linear(xs, false), y: linear(ys, true), right: paperWidth - gap}
	switch {
	case p.Kind == Percentiles:
		f.x = percentiles(xs)
	case p.X.Log:
		f.x = logarithmic(xs, false)
	}
	if p.Y.Log {
		f.y = logarithmic(ys, false)
	}
	for _, tick := range f.y.ticks {
		f.left = max(f.left, textWidth(tickText(tick))+gap)
	}
	return f
}

// grid draws a line at every tick, and writes those of the Y axis.
func (f frame) grid(d *drawing) {
	for _, tick := range f.x.ticks {
		at := f.x.at(tick, f.left, f.right)
		d.stroke("grid", at, f.top, at, f.bottom)
	}
	for _, tick := range f.y.ticks {
		at := f.y.at(tick, f.bottom, f.top)
		d.stroke("grid", f.left, at, f.right, at)
		d.text(f.left-gap/2, at+4, "end", "", tickText(tick))
	}
	d.stroke("axis", f.left, f.bottom, f.right, f.bottom)
}

// runs are the parts of a series that hang together.
func (f frame) runs(s Series) (runs [][]point) {
	hangs := false
	for i := range min(len(s.X), len(s.Y)) {
		x, y, before := s.X[i], s.Y[i], hangs
		if hangs = f.x.has(x) && f.y.has(y); !hangs {
			continue
		}
		if !before {
			runs = append(runs, nil)
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], point{f.x.at(x, f.left, f.right), f.y.at(y, f.bottom, f.top), x, y})
	}
	return runs
}

// thin leaves of the points above each other no more than one can see: the first, the least, the greatest and the last. A
// long run has a point for each second.
func thin(run []point) (kept []point) {
	for len(run) > 0 {
		n, least, most := 1, 0, 0
		for ; n < len(run) && int(run[n].x) == int(run[0].x); n++ {
			if run[n].y < run[least].y {
				least = n
			}
			if run[n].y > run[most].y {
				most = n
			}
		}
		column := run[:n]
		if n > 4 {
			column = []point{column[0], column[min(least, most)], column[max(least, most)], column[n-1]}
		}
		kept, run = append(kept, column...), run[n:]
	}
	return kept
}

// trace is a line through points, or a dot where there is but one.
func (d *drawing) trace(run []point, class, name string) {
	var path strings.Builder
	var hints []hint
	for i, v := range run {
		path.WriteString("ML"[min(i, 1):min(i, 1)+1] + length(v.x) + " " + length(v.y))
		hints = append(hints, hint{math.Round(v.x), math.Round(v.y), strings.TrimPrefix(name+": ", ": ") + Number(v.value) + " at " + significant(v.at)})
	}
	if len(run) == 1 {
		d.element("circle", "", "class", "dot "+class, "cx", run[0].x, "cy", run[0].y, "r", 2.5, "data-hints", d.told(hints...))
		return
	}
	d.element("path", "", "class", "line "+class, "d", path.String(), "data-hints", d.told(hints...))
}

// markLabel is where the text of a mark stands.
type markLabel struct {
	at, from    float64
	row         int
	text, class string
}

// labels places the marks' texts above the frame, in as many rows as it takes for none to lie over another.
func (f frame) labels(marks []Mark) (labels []markLabel, rows int) {
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.X, b.X) })
	var ends []float64 // of the rows
	for _, m := range marks {
		if !f.x.has(m.X) {
			continue
		}
		l := markLabel{at: f.x.at(m.X, f.left, f.right), text: shorten(m.Label, paperWidth/2), class: "mark"}
		if m.Other {
			l.class += " other"
		}
		width := textWidth(l.text)
		l.from = min(l.at+gap/2, paperWidth-width)
		if l.row = slices.IndexFunc(ends, func(end float64) bool { return end+gap <= l.from }); l.row < 0 {
			l.row, ends = len(ends), append(ends, 0)
		}
		ends[l.row] = l.from + width
		labels = append(labels, l)
	}
	return labels, len(ends)
}
