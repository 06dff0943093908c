package report

import "strconv"

const (
	swatch  = 18.0 // the width of a legend's colour
	colours = 7    // are told apart by plot.css, by their number
)

// draw draws everything but the title.
func (p Plot) draw(d *drawing) {
	classes := p.classes()
	p.legend(d, classes)
	if p.Kind == Bars {
		p.drawBars(d, classes)
	} else {
		p.drawLines(d, classes)
	}
}

// classes are what the series look like. One of another run has the colour of its namesake of this run; where there are more
// series than colours, they come again, and are drawn in another way.
func (p Plot) classes() []string {
	classes, numbers := make([]string, len(p.Series)), map[string]int{}
	number := func(i int, name, class string) {
		n, has := numbers[name]
		if !has {
			n = len(numbers)
			numbers[name] = n
		}
		if n >= colours {
			class += " again"
		}
		classes[i] = "s" + strconv.Itoa(n%colours) + class
	}
	for i, s := range p.Series {
		if !s.Other {
			number(i, otherName(s.Name), "")
		}
	}
	for i, s := range p.Series {
		if s.Other {
			number(i, s.Name, " other")
		}
	}
	return classes
}

// legend names the series, in as many rows as it takes.
func (p Plot) legend(d *drawing, classes []string) {
	x, base := paperWidth, 0.0
	for i, s := range p.Series {
		if s.Name == "" {
			continue
		}
		name := shorten(s.Name, paperWidth-swatch-gap)
		width := swatch + gap/2 + textWidth(name) + 2*gap
		if x > 0 && x+width > paperWidth+2*gap {
			x, base = 0, d.row()
		}
		if p.Kind == Bars {
			d.box("bar "+classes[i], x, base-9, swatch, 9)
		} else {
			d.stroke("line "+classes[i], x, base-4, x+swatch, base-4)
		}
		d.text(x+swatch+gap/2, base, "start", "", name)
		x += width
	}
	d.height += gap / 2
}

// frame is the part of the paper between two axes.
type frame struct {
	x, y                     scale
	left, right, top, bottom float64
}

// across draws a line at every tick of the X axis, and writes below the frame what it tells, but no tick over another.
func (f frame) across(d *drawing, label string) {
	d.height = f.bottom
	base, end := d.row(), -gap
	for _, tick := range f.x.ticks {
		at, text := f.x.at(tick, f.left, f.right), tickText(tick)
		d.stroke("grid", at, f.top, at, f.bottom)
		half := textWidth(text) / 2
		if at = max(half, min(at, paperWidth-half)); at-half >= end+gap {
			end = at + half
			d.text(at, base, "middle", "", text)
		}
	}
	d.label((f.left+f.right)/2, "middle", label)
	d.height += gap / 2
}

// empty says that there is nothing in the frame.
func (f frame) empty(d *drawing) {
	d.text((f.left+f.right)/2, (f.top+f.bottom)/2, "middle", "value", "nothing was measured")
}
