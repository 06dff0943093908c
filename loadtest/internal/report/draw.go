package report

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
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
	letterWidth = 7.0  // about: the reader's fonts are not known
	margin      = 12.0 // around an image of its own
	shown       = 1.25 // pixels of a length, where nobody says how wide the image is to be
)

// drawing is what has been drawn so far, from the top down.
type drawing struct {
	svg    strings.Builder
	height float64
	hints  []hint
}

// hint is a place on the paper, x and y, and what is there, for the page's script.
type hint [3]any

// add draws elements with some values. Lengths are written to a tenth, since more nobody sees. Texts are escaped, whatever
// they are.
func (d *drawing) add(elements string, values ...any) {
	for i, value := range values {
		switch v := value.(type) {
		case float64:
			values[i] = length(v)
		case string:
			var escaped strings.Builder
			_ = xml.EscapeText(&escaped, []byte(v)) // a builder does not fail
			values[i] = escaped.String()
		}
	}
	fmt.Fprintf(&d.svg, elements, values...)
}

// length is a number of the paper.
func length(value float64) string {
	return strconv.FormatFloat(math.Round(10*value)/10+0, 'f', -1, 64) // + 0: never -0
}

// text writes a text, of which the anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, class, text string) {
	d.add(`<text class="%v" x="%v" y="%v" text-anchor="%v">%v</text>`, class, x, y, anchor, text)
}

func (d *drawing) stroke(class string, x1, y1, x2, y2 float64) {
	d.add(`<line class="%v" x1="%v" y1="%v" x2="%v" y2="%v"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) box(class string, x, y, width, height float64) {
	d.add(`<rect class="%v" x="%v" y="%v" width="%v" height="%v"/>`, class, x, y, width, height)
}

// row goes down by a row of text, and returns its base line.
func (d *drawing) row() float64 {
	d.height += rowHeight
	return d.height - 5
}

// label names an axis, if it has a name.
func (d *drawing) label(x float64, anchor, text string) {
	if text != "" {
		d.text(x, d.row(), anchor, "", shorten(text, paperWidth))
	}
}

// WriteSVG writes the plot as an image of its own, which brings its title, its colours and those for the dark with it.
// The same plot gives the same bytes.
func (p Plot) WriteSVG(to io.Writer) error {
	var d, paper drawing
	d.text(paperWidth/2, d.row(), "middle", "title", shorten(p.Title, paperWidth))
	d.height += gap
	p.draw(&d)
	width, height := paperWidth+2*margin, d.height+2*margin
	paper.add(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="%v" width="%v" height="%v" viewBox="%v %v %v %v">`,
		p.Title, shown*width, shown*height, -margin, -margin, width, height)
	paper.add(`<desc>%v</desc><style>%v</style>`, p.describe(), strings.Join(strings.Fields(plotStyle), " "))
	paper.box("paper", -margin, -margin, width, height)
	_, err := io.WriteString(to, paper.svg.String()+d.svg.String()+"</svg>\n")
	return err
}

// inline is the plot as a part of a page, which tells its title and has its style and script.
func (p Plot) inline() string {
	d, svg := drawing{hints: []hint{}}, drawing{}
	p.draw(&d)
	hints, _ := json.Marshal(d.hints) // only numbers that are none could make it fail, and those have no place
	svg.add(`<svg class="plot" role="img" aria-label="%v" viewBox="0 0 %v %v" data-hints="%v"><desc>%v</desc>`,
		p.Title, paperWidth, d.height, string(hints), p.describe())
	return svg.svg.String() + d.svg.String() + "</svg>"
}

// describe says what there is to see to somebody who does not see it.
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
