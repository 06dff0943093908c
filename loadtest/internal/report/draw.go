package report

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed plot.css
var plotStyle string

// Lengths of the paper, on which letters are 12 high: a telephone shows two thirds of it, where they can still be read.
const (
	paperWidth  = 520.0
	rowHeight   = 17.0
	gap         = 8.0
	frameHeight = 210.0
	barHeight   = 13.0
	valueWidth  = 52.0 // for the number behind a bar
	swatch      = 18.0 // the width of a legend's colour
	letterWidth = 7.0  // about: the reader's fonts are not known
	margin      = 12.0 // around an image of its own
	shown       = 1.25 // pixels of a length, where nobody says how wide the image is to be
	colours     = 7    // are told apart by plot.css, by their number
)

// drawing is what has been drawn so far, from the top down.
type drawing struct {
	svg    strings.Builder
	height float64
	hints  bool // elements tell their values to a script (page.js)
}

// hint is a place on the paper, x and y, and what is there.
type hint [3]any

// element draws an element with a text, and names and values of attributes, of which empty ones are left out.
func (d *drawing) element(name, text string, attributes ...any) {
	d.open(name, attributes...)
	_ = xml.EscapeText(&d.svg, []byte(text)) // so that it is well-formed, whatever names a series; a builder does not fail
	d.svg.WriteString("</" + name + ">")
}

func (d *drawing) open(name string, attributes ...any) {
	d.svg.WriteString("<" + name)
	for i := 0; i < len(attributes); i += 2 {
		value, is := attributes[i+1].(string)
		if !is {
			value = length(attributes[i+1].(float64))
		}
		if value != "" {
			d.svg.WriteString(" " + attributes[i].(string) + `="`)
			_ = xml.EscapeText(&d.svg, []byte(value))
			d.svg.WriteString(`"`)
		}
	}
	d.svg.WriteString(">")
}

// length is a number of the paper, to a tenth: more nobody sees.
func length(value float64) string {
	return strconv.FormatFloat(math.Round(10*value)/10+0, 'f', -1, 64) // + 0: never -0
}

// text writes a text, of which the anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, class, text string) {
	d.element("text", text, "class", class, "x", x, "y", y, "text-anchor", anchor)
}

func (d *drawing) stroke(class string, x1, y1, x2, y2 float64) {
	d.element("line", "", "class", class, "x1", x1, "y1", y1, "x2", x2, "y2", y2)
}

func (d *drawing) box(class, hints string, x, y, width, height float64) {
	d.element("rect", "", "class", class, "x", x, "y", y, "width", width, "height", height, "data-hints", hints)
}

// told are hints for the script.
func (d *drawing) told(hints ...hint) string {
	if !d.hints {
		return ""
	}
	text, _ := json.Marshal(hints) // only numbers that are none could make it fail, and those have no place
	return string(text)
}

// row goes down by a row of text, and returns its base line.
func (d *drawing) row() float64 {
	d.height += rowHeight
	return d.height - 5
}

// WriteSVG writes the plot as an image of its own, which brings its title, its colours and those for the dark with it.
// The same plot gives the same bytes.
//
// Plots are drawn here. gonum.org/v1/plot was tried: it places text by the widths of its own fonts, writes colours into every
// path, so that neither the dark nor paper gets others, and has no bars on a logarithmic axis. Libraries of scripts make no
// images for a document.
func (p Plot) WriteSVG(to io.Writer) error {
	var d drawing
	d.text(paperWidth/2, d.row(), "middle", "title", shorten(p.Title, paperWidth))
	d.height += gap
	p.draw(&d)
	_, err := io.WriteString(to, d.image(p, margin, "xmlns", "http://www.w3.org/2000/svg",
		"width", shown*(paperWidth+2*margin), "height", shown*(d.height+2*margin))+"\n")
	return err
}

// inline is the plot as a part of a page, which tells its title and has its style and script.
func (p Plot) inline() string {
	d := drawing{hints: true}
	p.draw(&d)
	return d.image(p, 0)
}

// image is what was drawn with a margin around it, on paper of its own if there is one, and with what is told to somebody
// who does not see it.
func (d *drawing) image(p Plot, margin float64, attributes ...any) string {
	var root drawing
	width, height := paperWidth+2*margin, d.height+2*margin
	view := strings.Join([]string{length(-margin), length(-margin), length(width), length(height)}, " ")
	root.open("svg", append(attributes, "class", "plot", "role", "img", "aria-label", p.Title, "viewBox", view)...)
	root.element("desc", p.describe())
	if margin > 0 {
		root.element("style", strings.Join(strings.Fields(plotStyle), " "))
		root.box("paper", "", -margin, -margin, width, height)
	}
	return root.svg.String() + d.svg.String() + "</svg>"
}

// describe says what there is to see.
func (p Plot) describe() string {
	parts := []string{strings.TrimSuffix(p.Y.Label+" by "+p.X.Label, " by ")}
	for _, s := range p.Series {
		parts = append(parts, s.Name)
	}
	for _, m := range p.Marks {
		parts = append(parts, m.Label+" at "+Number(m.X))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

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
	classes, namesakes := make([]string, len(p.Series)), map[string]int{}
	for _, other := range []bool{false, true} {
		for i, s := range p.Series {
			if s.Other != other {
				continue
			}
			number, has := namesakes[s.Name]
			if !has || !other {
				number = len(namesakes)
				namesakes[otherName(s.Name)] = number
			}
			classes[i] = "s" + strconv.Itoa(number%colours)
			if other {
				classes[i] += " other"
			}
			if number >= colours {
				classes[i] += " again"
			}
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
			d.box("bar "+classes[i], "", x, base-9, swatch, 9)
		} else {
			d.stroke("line "+classes[i], x, base-4, x+swatch, base-4)
		}
		d.text(x+swatch+gap/2, base, "start", "", name)
		x += width
	}
	d.height += gap / 2
}

// label names an axis, if it has a name.
func (d *drawing) label(x float64, anchor, text string) {
	if text != "" {
		d.text(x, d.row(), anchor, "", shorten(text, paperWidth))
	}
}

// ticksAlong writes the ticks of an axis that runs from left to right, but none over another, and what it shows.
func (d *drawing) ticksAlong(s scale, left, right float64, label string) {
	base, end := d.row(), -gap
	for _, value := range s.ticks {
		text := tickText(value)
		half := textWidth(text) / 2
		at := max(half, min(s.at(value, left, right), paperWidth-half))
		if at-half >= end+gap {
			end = at + half
			d.text(at, base, "middle", "", text)
		}
	}
	d.label((left+right)/2, "middle", label)
	d.height += gap / 2
}

// textWidth is about how wide a text is.
func textWidth(text string) float64 { return letterWidth * float64(utf8.RuneCountInString(text)) }

// shorten cuts a text that is wider than there is room.
func shorten(text string, width float64) string {
	room := int(width / letterWidth)
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	return string([]rune(text)[:max(0, room-1)]) + "…"
}
