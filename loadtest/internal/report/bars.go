package report

import (
	"math"
	"strings"
)

const (
	barHeight  = 13.0
	valueWidth = 52.0 // for the number behind a bar
)

// drawBars draws a group of bars for each category. They lie, because names of categories are long: where one does not find
// room to the left of its bars, all stand above theirs.
func (p Plot) drawBars(d *drawing) {
	var values []float64
	var left float64
	for _, s := range p.Series {
		values = append(values, s.Y...)
	}
	for _, category := range p.Categories {
		left = max(left, textWidth(category)+gap)
	}
	above := left > paperWidth*0.3
	if above {
		left = 0
	}
	s := fromZero(values)
	if p.Y.Log {
		s = fromBelow(values)
	}
	if p.X.Label != "" {
		d.add(textAt(0, d.row(), "start", "", shorten(p.X.Label, paperWidth)))
	}
	b := bars{Plot: p, scale: s, classes: p.classes(), left: left, right: paperWidth - valueWidth, above: above}
	top, place := d.height, len(d.content)
	for i := range p.Categories {
		b.group(d, i)
	}
	if len(p.Categories) == 0 {
		d.add(textAt(paperWidth/2, d.row(), "middle", "value", "nothing was measured"))
	}
	d.height += gap
	d.content = append(d.content[:place:place], append(b.grid(top, d.height), d.content[place:]...)...)
	d.ticksAlong(s, b.left, b.right, p.Y.Label)
}

// fromBelow is a logarithmic axis that begins at a power of ten below all values, or else the least would have no bar.
func fromBelow(values []float64) scale {
	s := logarithmic(values)
	least, _ := bounds(values, s.warp)
	return logarithmic(append(values, math.Pow(10, math.Ceil(least)-1)))
}

// bars is a plot of bars with its axis.
type bars struct {
	Plot
	scale
	classes     []string
	left, right float64
	above       bool // the names of categories are
}

// group draws a category.
func (b bars) group(d *drawing, category int) {
	d.height += gap
	name := b.Categories[category]
	if b.above {
		d.add(textAt(0, d.row(), "start", "", shorten(name, paperWidth)))
	} else {
		middle := d.height + float64(len(b.Series))*(barHeight+1)/2
		d.add(textAt(b.left-gap, middle+4, "end", "", name))
	}
	for i, s := range b.Series {
		if category < len(s.Y) {
			d.add(b.bar(d.height, s.Y[category], b.classes[i], hint(name, s.Name))...)
		}
		d.height += barHeight + 1
	}
}

// hint is what a bar says of itself to somebody who points at it.
func hint(category, series string) string {
	if series == "" {
		return category
	}
	return category + ", " + series
}

// bar is a bar and its number; what has no place on the axis has the number alone.
func (b bars) bar(top, value float64, class, name string) []node {
	base := top + barHeight - 3
	if !b.has(value) {
		return []node{textAt(b.left+gap/2, base, "start", "value", Number(value))}
	}
	from, to := b.origin(), b.at(value, b.left, b.right)
	rectangle := box("bar "+class, min(from, to), top, max(from, to)-min(from, to), barHeight)
	return []node{
		rectangle.holding(element("title").saying(strings.TrimSpace(name + ": " + Number(value)))),
		textAt(max(from, to)+gap/2, base, "start", "value", Number(value)),
	}
}

// origin is where bars begin: at 0, or where a logarithmic axis does.
func (b bars) origin() float64 {
	if b.has(0) {
		return b.at(0, b.left, b.right)
	}
	return b.left
}

// grid is a line at every tick, behind the bars.
func (b bars) grid(top, bottom float64) (lines []node) {
	for _, t := range b.ticks {
		at := b.at(t.value, b.left, b.right)
		lines = append(lines, stroke("grid", at, top, at, bottom))
	}
	return append(lines, stroke("axis", b.origin(), top, b.origin(), bottom))
}
