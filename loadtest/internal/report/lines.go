package report

import (
	"cmp"
	"slices"
	"strings"
)

// frame is the part of the paper between two axes.
type frame struct {
	x, y                     scale
	left, right, top, bottom float64
}

// point is a place on the paper.
type point struct{ x, y float64 }

// drawLines draws a line for each series, broken where it has no place: at what is no number, and on a logarithmic axis at
// what is not above 0.
func (p Plot) drawLines(d *drawing) {
	f := p.frame()
	if p.Y.Label != "" {
		d.add(textAt(0, d.row(), "start", "", shorten(p.Y.Label, paperWidth)))
	}
	labels, rows := f.labels(p.Marks)
	f.top = d.height + float64(rows)*rowHeight + gap
	f.bottom = f.top + frameHeight
	f.grid(d)
	var texts []node // above the lines, of which some may pass behind them
	for _, l := range labels {
		base := d.height + float64(l.row+1)*rowHeight - 5
		d.add(stroke(l.class, l.at, base-8, l.at, f.bottom))
		texts = append(texts, textAt(l.from, base, "start", "mark-label", l.text))
	}
	d.add(texts...)
	drawn, classes := false, p.classes()
	for i, s := range p.Series {
		for _, run := range f.runs(s) {
			drawn = true
			d.add(trace(thin(run), classes[i]).holding(element("title").saying(s.Name)))
		}
	}
	if !drawn {
		d.add(textAt((f.left+f.right)/2, (f.top+f.bottom)/2, "middle", "value", "nothing was measured"))
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
	f := frame{x: alongX(xs), y: fromZero(ys), right: paperWidth - gap}
	switch {
	case p.Kind == Percentiles:
		f.x = percentiles(xs)
	case p.X.Log:
		f.x = logarithmic(xs)
	}
	if p.Y.Log {
		f.y = logarithmic(ys)
	}
	for _, t := range f.y.ticks {
		f.left = max(f.left, textWidth(t.text)+gap)
	}
	return f
}

// at is the place of a value, if there is one.
func (f frame) at(x, y float64) (point, bool) {
	if !f.x.has(x) || !f.y.has(y) {
		return point{}, false
	}
	return point{f.x.at(x, f.left, f.right), f.y.at(y, f.bottom, f.top)}, true
}

// grid draws a line at every tick, and writes those of the Y axis.
func (f frame) grid(d *drawing) {
	for _, t := range f.x.ticks {
		at := f.x.at(t.value, f.left, f.right)
		d.add(stroke("grid", at, f.top, at, f.bottom))
	}
	for _, t := range f.y.ticks {
		at := f.y.at(t.value, f.bottom, f.top)
		d.add(stroke("grid", f.left, at, f.right, at), textAt(f.left-gap/2, at+4, "end", "", t.text))
	}
	d.add(stroke("axis", f.left, f.bottom, f.right, f.bottom))
}

// runs are the parts of a series that hang together.
func (f frame) runs(s Series) (runs [][]point) {
	var run []point
	for i := range min(len(s.X), len(s.Y)) {
		if at, has := f.at(s.X[i], s.Y[i]); has {
			run = append(run, at)
			continue
		}
		if run != nil {
			runs, run = append(runs, run), nil
		}
	}
	if run != nil {
		runs = append(runs, run)
	}
	return runs
}

// thin leaves of the points above each other no more than one can see: the first, the least, the greatest and the last. A
// long run has a point for each second.
func thin(run []point) (kept []point) {
	for len(run) > 0 {
		n := 1
		for n < len(run) && int(run[n].x) == int(run[0].x) {
			n++
		}
		column, least, most := run[:n], 0, 0
		for i, at := range column {
			if at.y < column[least].y {
				least = i
			}
			if at.y > column[most].y {
				most = i
			}
		}
		if n > 4 {
			column = []point{column[0], column[min(least, most)], column[max(least, most)], column[n-1]}
		}
		kept, run = append(kept, column...), run[n:]
	}
	return kept
}

// trace is a line through points, or a dot where there is but one.
func trace(run []point, class string) node {
	if len(run) == 1 {
		return element("circle", "class", "dot "+class, "cx", length(run[0].x), "cy", length(run[0].y), "r", "2.5")
	}
	var path strings.Builder
	for i, at := range run {
		path.WriteByte("ML"[min(i, 1)])
		path.WriteString(length(at.x) + " " + length(at.y))
	}
	return element("path", "class", "line "+class, "d", path.String())
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
		for l.row < len(ends) && ends[l.row]+gap > l.from {
			l.row++
		}
		if l.row == len(ends) {
			ends = append(ends, 0)
		}
		ends[l.row] = l.from + width
		labels = append(labels, l)
	}
	return labels, len(ends)
}
