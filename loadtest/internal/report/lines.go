package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const frameHeight = 210.0

// drawLines draws a line for each series, broken where it has no place: at what is no number, and on a logarithmic axis at
// what is not above 0.
func (p Plot) drawLines(d *drawing, classes []string) {
	f := p.frame()
	d.label(0, "start", p.Y.Label)
	marks, rows := f.marks(p.Marks)
	above := d.height
	f.top = above + rows*rowHeight + gap
	f.bottom = f.top + frameHeight
	f.across(d, p.X.Label)
	for _, tick := range f.y.ticks {
		at := f.y.at(tick, f.bottom, f.top)
		d.stroke("grid", f.left, at, f.right, at)
		d.text(f.left-gap/2, at+4, "end", "", tickText(tick))
	}
	d.stroke("axis", f.left, f.bottom, f.right, f.bottom)
	for _, m := range marks { // lines first, of which some may pass behind texts
		d.stroke(m.class, m.at, above+m.row*rowHeight+4, m.at, f.bottom)
	}
	for _, m := range marks {
		d.text(m.from, above+(m.row+1)*rowHeight-5, "start", "mark-label", m.text)
	}
	drawn := false
	for i, s := range p.Series {
		for _, run := range f.runs(s) {
			drawn = true
			d.trace(thin(run), classes[i], s.Name)
		}
	}
	if !drawn {
		f.empty(d)
	}
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
	f := frame{x: p.X.scale(xs, false), y: p.Y.scale(ys, !p.Y.Log), right: paperWidth - gap}
	if p.Kind == Percentiles {
		f.x = percentiles(xs)
	}
	for _, tick := range f.y.ticks {
		f.left = max(f.left, textWidth(tickText(tick))+gap)
	}
	return f
}

// point is a place on the paper, and what is there.
type point struct{ x, y, at, value float64 }

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
	higher := func(a, b point) int { return cmp.Compare(a.y, b.y) }
	for len(run) > 0 {
		n := 1
		for n < len(run) && int(run[n].x) == int(run[0].x) {
			n++
		}
		column := run[:n]
		if n > 4 {
			column = []point{column[0], slices.MinFunc(column, higher), slices.MaxFunc(column, higher), column[n-1]}
		}
		kept, run = append(kept, column...), run[n:]
	}
	return kept
}

// trace is a line through points, or a dot where there is but one.
func (d *drawing) trace(run []point, class, name string) {
	var path strings.Builder
	for i, v := range run {
		path.WriteString("ML"[min(i, 1):min(i, 1)+1] + length(v.x) + " " + length(v.y))
		told := strings.TrimPrefix(name+": ", ": ") + Number(v.value) + " at " + significant(v.at)
		d.hints = append(d.hints, hint{math.Round(v.x), math.Round(v.y), told})
	}
	if len(run) == 1 {
		d.add(`<circle class="dot %v" cx="%v" cy="%v" r="2.5"/>`, class, run[0].x, run[0].y)
		return
	}
	d.add(`<path class="line %v" d="%v"/>`, class, path.String())
}

// placed is a mark, and where its text stands.
type placed struct {
	at, from, row float64
	text, class   string
}

// marks places texts above the frame, in as many rows as it takes for none to lie over another.
func (f frame) marks(marks []Mark) (all []placed, rows float64) {
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.X, b.X) })
	var ends []float64 // of the rows
	for _, m := range marks {
		if !f.x.has(m.X) {
			continue
		}
		p := placed{at: f.x.at(m.X, f.left, f.right), text: shorten(m.Label, paperWidth/2), class: "mark"}
		if m.Other {
			p.class += " other"
		}
		width := textWidth(p.text)
		p.from = min(p.at+gap/2, paperWidth-width)
		row := slices.IndexFunc(ends, func(end float64) bool { return end+gap <= p.from })
		if row < 0 {
			row, ends = len(ends), append(ends, 0)
		}
		p.row, ends[row] = float64(row), p.from+width
		all = append(all, p)
	}
	return all, float64(len(ends))
}
