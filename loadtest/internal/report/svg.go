package report

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

//go:embed plot.css
var plotStyle string

// Lengths are pixels, and places across are hundredths of the width: a plot fills any width, with letters of one size.
const (
	letterWidth = 7.0 // about: the reader's fonts are not known
	mostLetters = 51  // have room on a telephone
	narrow      = mostLetters * letterWidth
	rowHeight   = 17.0
	barHeight   = 14.0 // with what is between two bars
	gap         = 8.0
	swatch      = 18.0 // the width of a legend's colour
)

// drawing is what has been drawn so far, from the top down.
type drawing struct {
	strings.Builder
	height float64
	hints  [][3]any // places, x and y, and what is there, for the page's script
	about  []string // what there is to see, for a screen reader
}

func (d *drawing) hint(x, y float64, name, value string) {
	d.hints = append(d.hints, [3]any{math.Round(10*x) / 10, math.Round(y), strings.TrimPrefix(name+": "+value, ": ")})
}

// text writes a text in the row above y, some pixels from x: behind it, if the class does not say middle or end.
func (d *drawing) text(class string, x, pixels, y float64, text string) {
	fmt.Fprintf(&d.Builder, `<text class="%s" x="%.2f%%" dx="%.1f" y="%.1f">%s</text>`, class, x, pixels, y-5, escapedXML(text))
}

// row writes a text in a row of its own, if there is one.
func (d *drawing) row(class string, x float64, text string) {
	if text != "" {
		d.height += rowHeight
		d.text(class, x, 0, d.height, shorten(text))
	}
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.Builder, `<line class="%s" x1="%.2f%%" y1="%.1f" x2="%.2f%%" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// inline is the plot as a part of a page, which has its title, style and script.
func (p Plot) inline() string {
	d := p.draw()
	hints, _ := json.Marshal(d.hints) // only numbers that are none could make it fail, and those have no place
	return fmt.Sprintf(`<svg class="plot" role="img" aria-label="%s" height="%.1f" data-hints="%s"><desc>%s</desc>%s</svg>`,
		escapedXML(p.Title), d.height, escapedXML(string(hints)), escapedXML(strings.Join(d.about, "; ")), d)
}

func escapedXML(text string) string {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // a builder does not fail
	return escaped.String()
}

// textWidth is about how wide a text is.
func textWidth(text string) float64 { return letterWidth * float64(len([]rune(text))) }

// shorten cuts a text that is wider than a telephone.
func shorten(text string) string {
	if letters := []rune(text); len(letters) > mostLetters {
		return string(letters[:mostLetters-1]) + "…"
	}
	return text
}
