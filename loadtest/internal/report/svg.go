package report

import (
	_ "embed"
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

const (
	margin = 12.0 // around an image of its own
	shown  = 1.25 // pixels of a length, where nobody says how wide the image is to be
)

// node is an element of SVG. encoding/xml writes it, so that it is well-formed whatever names a series.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []node     `xml:",any"`
}

// element makes an element of names and values of attributes, of which empty ones are left out.
func element(name string, attributes ...string) node {
	n := node{XMLName: xml.Name{Local: name}}
	for pair := range slices.Chunk(attributes, 2) {
		if pair[1] != "" {
			n.Attrs = append(n.Attrs, xml.Attr{Name: xml.Name{Local: pair[0]}, Value: pair[1]})
		}
	}
	return n
}

// saying gives an element its text.
func (n node) saying(text string) node {
	n.Text = text
	return n
}

// holding gives an element further children.
func (n node) holding(children ...node) node {
	n.Children = append(n.Children, children...)
	return n
}

// length is a number of the paper, to a tenth: more nobody sees.
func length(value float64) string {
	return strconv.FormatFloat(math.Round(10*value)/10+0, 'f', -1, 64) // + 0: never -0
}

// textAt writes a text. Its anchor is start, middle or end.
func textAt(x, y float64, anchor, class, text string) node {
	return element("text", "class", class, "x", length(x), "y", length(y), "text-anchor", anchor).saying(text)
}

// stroke is a straight line.
func stroke(class string, x1, y1, x2, y2 float64) node {
	return element("line", "class", class, "x1", length(x1), "y1", length(y1), "x2", length(x2), "y2", length(y2))
}

// box is a rectangle.
func box(class string, x, y, width, height float64) node {
	return element("rect", "class", class, "x", length(x), "y", length(y), "width", length(width), "height", length(height))
}

// WriteSVG writes the plot as an image of its own, which brings its title, its colours and those for the dark with it.
// The same plot gives the same bytes.
//
// Plots are drawn here and not by gonum.org/v1/plot, which was tried. It places text by the widths of its own fonts, which
// a reader may not have, and writes colours into every path, so that neither the dark nor paper gets others; it cannot give a
// bar on a logarithmic axis, a description or a hint; and with it come twelve fonts, TeX, PDF and TIFF.
func (p Plot) WriteSVG(to io.Writer) error {
	title := wrap(p.Title, paperWidth)
	image := p.draw(float64(len(title))*titleHeight + gap)
	for i, line := range title {
		image.add(textAt(paperWidth/2, float64(i+1)*titleHeight-4, "middle", "title", line))
	}
	root := image.root(p, margin, "xmlns", "http://www.w3.org/2000/svg",
		"width", length(shown*(paperWidth+2*margin)), "height", length(shown*(image.height+2*margin)))
	style := element("style").saying(strings.Join(strings.Fields(plotStyle), " "))
	paper := box("paper", -margin, -margin, paperWidth+2*margin, image.height+2*margin)
	text, err := xml.Marshal(root.holding(style, paper).holding(image.content...))
	if err != nil {
		return err
	}
	_, err = to.Write(append(text, '\n'))
	return err
}

// inline is the plot as a part of a page, which tells its title and has its style (plotStyle).
func (p Plot) inline() (string, error) {
	image := p.draw(0)
	text, err := xml.Marshal(image.root(p, 0).holding(image.content...))
	return string(text), err
}

// root is the element around a drawing and its margin, with what is told to somebody who does not see it.
func (d drawing) root(p Plot, margin float64, attributes ...string) node {
	view := []string{length(-margin), length(-margin), length(paperWidth + 2*margin), length(d.height + 2*margin)}
	attributes = append(attributes, "class", "plot", "role", "img", "aria-label", p.Title, "viewBox", strings.Join(view, " "))
	return element("svg", attributes...).holding(element("title").saying(p.Title), element("desc").saying(p.describe()))
}

// describe says what there is to see.
func (p Plot) describe() string {
	parts := []string{p.Y.Label}
	if p.X.Label != "" {
		parts[0] += " by " + p.X.Label
	}
	for _, s := range p.Series {
		if s.Name != "" {
			parts = append(parts, s.Name)
		}
	}
	for _, m := range p.Marks {
		parts = append(parts, m.Label+" at "+Number(m.X))
	}
	return strings.Join(parts, "; ")
}

// wrap breaks a text into lines of a width.
func wrap(text string, width float64) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && textWidth(lines[last]+" "+word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// letterWidth is about how wide a letter is. The reader's fonts are not known; those of a sans-serif come near to it.
const letterWidth = 7.0

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
