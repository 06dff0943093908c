package report

import "strconv"

// Lengths of the paper, on which letters are 12 high: a telephone shows two thirds of it, where they can still be read.
const (
	paperWidth  = 520.0
	titleHeight = 20.0
	rowHeight   = 17.0
	gap         = 8.0
	frameHeight = 210.0
	swatch      = 18.0 // the width of a legend's colour
)

// colours are told apart by plot.css, by their number.
const colours = 7

// drawing is what has been drawn so far, from the top down.
type drawing struct {
	content []node
	height  float64
}

func (d *drawing) add(nodes ...node) { d.content = append(d.content, nodes...) }

// row goes down by a row of text, and returns its base line.
func (d *drawing) row() float64 {
	d.height += rowHeight
	return d.height - 5
}

// draw draws everything but the title, below top.
func (p Plot) draw(top float64) drawing {
	d := drawing{height: top}
	p.legend(&d)
	if p.Kind == Bars {
		p.drawBars(&d)
	} else {
		p.drawLines(&d)
	}
	return d
}

// classes are what the series look like. One of another run has the colour of its namesake of this run; where there are more
// series than colours, they come again, and are drawn in another way.
func (p Plot) classes() []string {
	classes, namesakes, number := make([]string, len(p.Series)), map[string]int{}, 0
	for i, s := range p.Series {
		if !s.Other {
			classes[i] = class(number, "")
			namesakes[otherName(s.Name)] = number
			number++
		}
	}
	for i, s := range p.Series {
		if !s.Other {
			continue
		}
		of, has := namesakes[s.Name]
		if !has {
			of = number
			number++
		}
		classes[i] = class(of, " other")
	}
	return classes
}

func class(number int, marks string) string {
	if number >= colours {
		marks += " again"
	}
	return "s" + strconv.Itoa(number%colours) + marks
}

// thisRun is how a series without a name is called once there is another one.
const thisRun = "this run"

// otherName is how what belongs to the other run is called.
func otherName(name string) string {
	if name == thisRun {
		return "other run"
	}
	return name + " (other)"
}

// legend names the series, in as many rows as it takes.
func (p Plot) legend(d *drawing) {
	x, base, classes := paperWidth, 0.0, p.classes()
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
			d.add(box("bar "+classes[i], x, base-9, swatch, 9))
		} else {
			d.add(stroke("line "+classes[i], x, base-4, x+swatch, base-4))
		}
		d.add(textAt(x+swatch+gap/2, base, "start", "", name))
		x += width
	}
	d.height += gap / 2
}

// ticksAlong writes the ticks of an axis that runs from left to right, but none over another, and what it shows.
func (d *drawing) ticksAlong(s scale, left, right float64, label string) {
	d.height += gap / 4
	base, end := d.row(), -gap
	for _, t := range s.ticks {
		half := textWidth(t.text) / 2
		at := max(half, min(s.at(t.value, left, right), paperWidth-half))
		if at-half < end+gap {
			continue
		}
		end = at + half
		d.add(textAt(at, base, "middle", "", t.text))
	}
	if label != "" {
		d.add(textAt((left+right)/2, d.row(), "middle", "", shorten(label, paperWidth)))
	}
	d.height += gap / 2
}
