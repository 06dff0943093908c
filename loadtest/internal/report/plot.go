package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// PlotName makes the name of a plot of some words: [a-z0-9-]+.
func PlotName(words ...string) string {
	fields := strings.FieldsFunc(strings.ToLower(strings.Join(words, " ")), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(fields, "-")
}

// frame is the part of a drawing between two axes.
type frame struct {
	x, y                     scale
	left, right, top, bottom float64
}

func (f frame) across(value float64) float64 { return f.x.at(value, f.left, f.right) }

// draw draws the plot. Bars are horizontal, because names are long.
func (p Plot) draw() *drawing {
	d, f, classes := &drawing{hints: [][3]any{}}, p.frame(), p.classes()
	d.about = []string{strings.TrimSuffix(p.Y.Label+" by "+p.X.Label, " by ")}
	height := 210.0
	if p.Kind == Bars {
		p.X, p.Y = p.Y, p.X
		height = gap + float64(max(1, len(p.Categories)))*(gap+rowHeight+float64(len(p.Series))*barHeight)
	}
	p.legend(d, classes)
	d.row("", 0, p.Y.Label)
	f.top, f.bottom = d.height+gap, d.height+gap+height
	f.grid(d)
	if p.Kind == Bars {
		p.bars(d, f, classes)
	} else {
		d.line("axis", f.left, f.bottom, f.right, f.bottom)
		f.marks(d, p.Marks)
		for i, s := range p.Series {
			f.trace(d, s, classes[i])
		}
	}
	d.row("middle", 50, p.X.Label)
	if len(d.hints) == 0 {
		d.text("value middle", 50, 0, (f.top+f.bottom)/2, "nothing was measured")
	}
	return d
}

// classes are the looks of the series. With more series than
// the 7 colours of plot.css, colours repeat with another line.
func (p Plot) classes() (classes []string) {
	for n := range p.Series {
		classes = append(classes, fmt.Sprint("s", n%7, strings.Repeat(" again", n/7)))
	}
	return classes
}

func when(is bool, class string) string { return map[bool]string{true: class}[is] }

// legend names the series, in as many rows as needed.
func (p Plot) legend(d *drawing, classes []string) {
	x := narrow
	for i, s := range p.Series {
		if s.Name == "" {
			continue
		}
		name, class := shorten(s.Name), classes[i]
		if x+swatch+gap/2+textWidth(name) > narrow {
			x = 0
			d.height += rowHeight
		}
		if p.Kind == Bars {
			fmt.Fprintf(&d.Builder, `<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="9"/>`, class, x, d.height-14, swatch)
		} else {
			fmt.Fprintf(&d.Builder, `<line class="line %s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1[3]f"/>`, class, x, d.height-9, x+swatch)
		}
		d.text("", 0, x+swatch+gap/2, d.height, name)
		d.about = append(d.about, s.Name)
		x += swatch + textWidth(name) + 3*gap
	}
	d.height += gap / 2
}

// frame has the axes, and room for their texts.
func (p Plot) frame() frame {
	var xs, ys []float64
	for _, s := range p.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	for _, m := range p.Marks {
		xs = append(xs, m.X)
	}
	if p.Kind == Bars {
		return frame{x: p.Y.scale(ys, true), left: 5, right: 85}
	}
	f := frame{x: p.X.scale(xs, false), y: p.Y.scale(ys, !p.Y.Log), right: 95}
	if p.Kind == Percentiles {
		f.x = percentiles(xs)
	}
	for _, tick := range f.y.ticks {
		f.left = max(f.left, 100*(textWidth(tickText(tick))+gap)/narrow)
	}
	return f
}

// grid draws a line at every tick, and its value beside or below the frame, but no text over another.
func (f frame) grid(d *drawing) {
	for _, tick := range f.y.ticks {
		at := f.y.at(tick, f.bottom, f.top)
		d.line("grid", f.left, at, f.right, at)
		d.text("end", f.left, -gap/2, at+9, tickText(tick))
	}
	d.height = f.bottom + rowHeight
	end := 0.0
	for _, tick := range f.x.ticks {
		at, text := f.across(tick), tickText(tick)
		d.line("grid", at, f.top, at, f.bottom)
		if half, middle := textWidth(text)/2, at/100*narrow; middle-half >= end {
			d.text("middle", at, 0, d.height, text)
			end = middle + half + gap
		}
	}
}

// bars draws a group of bars for each category, below its name.
func (p Plot) bars(d *drawing, f frame, classes []string) {
	y, origin := f.top, max(f.left, f.across(0))
	d.line("axis", origin, f.top, origin, f.bottom)
	for i, category := range p.Categories {
		y += gap + rowHeight
		d.text("", f.left, 0, y, shorten(category))
		for j, s := range p.Series {
			if i < len(s.Y) {
				end, told := origin, Number(s.Y[i])
				if f.x.has(s.Y[i]) {
					end = f.across(s.Y[i])
					fmt.Fprintf(&d.Builder, `<rect class="bar %s" x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f"/>`,
						classes[j], min(origin, end), y, math.Abs(end-origin), barHeight-1)
				}
				d.hint(end, y+barHeight/2, strings.Trim(category+", "+s.Name, ", "), told)
				d.text("value", max(origin, end), gap/2, y+barHeight+1, told)
			}
			y += barHeight
		}
	}
}

// marks draws a line for each mark, and its label below, in as many rows as keep the texts apart.
func (f frame) marks(d *drawing, marks []Mark) {
	above, ends := d.height, []float64{} // of the rows
	for _, m := range marks {
		if !f.x.has(m.X) {
			continue
		}
		at, text := f.across(m.X), shorten(m.Label)
		from := min(at*narrow/100+gap/2, narrow-textWidth(text))
		row := slices.IndexFunc(ends, func(end float64) bool { return end+gap <= from })
		if row < 0 {
			row, ends = len(ends), append(ends, 0)
			d.height += rowHeight
		}
		ends[row] = from + textWidth(text)
		look, y := "s6 mark"+when(m.Broke, " broke"), above+float64(row+1)*rowHeight
		d.line(look, at, f.top, at, f.bottom)
		d.line(look, at, above, at, y-5)
		d.about = append(d.about, m.Label+" at "+Number(m.X))
		d.text("mark-label"+when(m.Broke, " broke"), at, from-at*narrow/100, y, text)
	}
}

// trace draws a series, with gaps at what is no number, and on a logarithmic axis at what is not above 0.
func (f frame) trace(d *drawing, s Series, class string) {
	var run []string
	n := min(len(s.X), len(s.Y))
	for _, i := range append(thin(s.Y[:n]), n) {
		if i < n && f.x.has(s.X[i]) && f.y.has(s.Y[i]) {
			x, y := f.across(s.X[i]), f.y.at(s.Y[i], f.bottom, f.top)
			run = append(run, fmt.Sprintf("%.2f %.1f", x, y))
			d.hint(x, y, s.Name, Number(s.Y[i])+" at "+tickText(s.X[i]))
		} else if len(run) > 0 {
			fmt.Fprintf(&d.Builder, `<svg viewBox="0 0 100 100" height="100" preserveAspectRatio="none" overflow="visible">`+
				`<path class="line of%d %s" d="M%sh0"/></svg>`, len(run), class, strings.Join(run, "L"))
			run = nil
		}
	}
}

// thin keeps the least and the greatest of values that are too close to be told apart: a long run has one for each second.
func thin(values []float64) (kept []int) {
	size := 1 + len(values)/500
	for from := 0; from < len(values); from += size {
		part := values[from:min(from+size, len(values))]
		least, greatest := from+floats.MinIdx(part), from+floats.MaxIdx(part)
		kept = append(kept, min(least, greatest), max(least, greatest))
	}
	return slices.Compact(kept)
}
