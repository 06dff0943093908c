package report

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// PlotName makes the name of a plot of some words: [a-z0-9-]+.
func PlotName(words ...string) string {
	fields := strings.FieldsFunc(strings.ToLower(strings.Join(words, " ")), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(fields, "-")
}

// palette are the colours of Okabe and Ito, which nearly everybody can tell apart.
func palette(n int) color.Color {
	all := []color.RGBA{
		{0x00, 0x72, 0xb2, 0xff},
		{0xd5, 0x5e, 0x00, 0xff},
		{0x00, 0x9e, 0x73, 0xff},
		{0xcc, 0x79, 0xa7, 0xff},
		{0xe6, 0x9f, 0x00, 0xff},
		{0x56, 0xb4, 0xe9, 0xff},
	}
	return all[n%len(all)]
}

// drawable reports whether a number has a place in a drawing: on a logarithmic axis there is none for 0 and less, and on no axis for
// what is further away than any figure.
func drawable(value float64, log bool) bool {
	return math.Abs(value) <= mostTold && (!log || value >= 1/mostTold)
}

// svg is the plot as a part of a page, in the colour of the text around it.
func (p Plot) svg() (string, error) {
	drawing := plot.New()
	drawing.BackgroundColor = nil
	drawing.X.Label.Text, drawing.Y.Label.Text = p.X.Label, p.Y.Label
	height, draws := vg.Points(220), p.lines
	if p.Kind == Dots {
		drawing.X.Label.Text, drawing.Y.Label.Text = p.Y.Label, p.X.Label
		height, draws = vg.Points(float64(50+22*len(p.Categories))), p.dots
	}
	if err := draws(drawing); err != nil {
		return "", fmt.Errorf("draw %s: %w", p.Name, err)
	}
	widen(&drawing.X)
	widen(&drawing.Y)
	legend := drawing.Legend // which has its place above what it names
	legend.Top, legend.Left, drawing.Legend = true, true, plot.NewLegend()
	sans(10, &legend.TextStyle, &drawing.X.Label.TextStyle, &drawing.Y.Label.TextStyle, &drawing.X.Tick.Label, &drawing.Y.Tick.Label)
	above := vg.Points(6)
	for _, series := range p.Series {
		if series.Name != "" {
			above += vg.Points(12)
		}
	}
	canvas := vgsvg.New(vg.Points(420), height+above)
	paper := draw.New(canvas)
	legend.Draw(paper)
	drawing.Draw(draw.Crop(paper, 0, -vg.Points(30), 0, -above)) // with room for what stands behind the last dot
	var text bytes.Buffer
	if _, err := canvas.WriteTo(&text); err != nil {
		return "", fmt.Errorf("write %s: %w", p.Name, err)
	}
	_, image, _ := strings.Cut(text.String(), "<svg") // without the head of a file
	image = strings.NewReplacer("#000000", "currentColor", "Liberation Sans", "Liberation Sans,Arial,Helvetica,sans-serif", `xmlns:xlink="http://www.w3.org/1999/xlink"`, "", `xmlns="`+namespace+`"`, "").Replace(image)
	return fmt.Sprintf(`<svg class="plot" fill="currentColor" role="img" aria-label="%s"%s`, html.EscapeString(p.Title), image), nil
}

// sans gives texts letters like those of pages.
func sans(points float64, styles ...*draw.TextStyle) {
	for _, s := range styles {
		s.Font.Variant, s.Font.Size = "Sans", vg.Points(points)
	}
}

// widen gives an axis a length that ticks can divide.
func widen(a *plot.Axis) {
	if least := 1e-6 * max(math.Abs(a.Min), math.Abs(a.Max)); a.Max-a.Min < least {
		a.Min, a.Max = a.Min-least, a.Max+least
	}
}

// namespace is what a page knows, and a file has to say.
const namespace = "http://www.w3.org/2000/svg"

// paper is behind a plot in a file, in the colours of GitHub, light and dark.
const paper = `<style>svg{color:#1f2328;background:#fff}@media(prefers-color-scheme:dark){svg{color:#f0f6fc;background:#0d1117}}</style>`

// WriteSVG writes the plot as a file that Markdown can show.
func (p Plot) WriteSVG(to io.Writer) error {
	image, err := p.svg()
	if err != nil {
		return err
	}
	begin, rest, _ := strings.Cut(image, ">")
	_, err = io.WriteString(to, begin+`xmlns="`+namespace+`">`+paper+rest)
	return err
}

// lines draws each series, with gaps where there is no place, and a line for each mark.
func (p Plot) lines(drawing *plot.Plot) error {
	drawn := false
	for n, s := range p.Series {
		var run plotter.XYs
		named := false
		for i := range append(slices.Clip(s.X), math.NaN()) {
			if i < min(len(s.X), len(s.Y)) && drawable(s.X[i], false) && drawable(s.Y[i], p.Y.Log) {
				run = append(run, plotter.XY{X: s.X[i], Y: s.Y[i]})
				continue
			}
			if len(run) == 0 {
				continue
			}
			line, err := plotter.NewLine(run)
			if err != nil {
				return err
			}
			line.Color, line.Width = palette(n), vg.Points(1.3)
			if drawing.Add(line); s.Name != "" && !named {
				drawing.Legend.Add(s.Name, line)
				named = true
			}
			drawn, run = true, nil
		}
	}
	switch {
	case !drawn: // nothing was measured
		drawing.X.Min, drawing.X.Max, drawing.Y.Min, drawing.Y.Max = 0, 1, 0, 1
		return nil
	case p.Y.Log:
		drawing.Y.Min, drawing.Y.Max = drawing.Y.Min/2, drawing.Y.Max*2 // so that the axis has a length
		drawing.Y.Scale, drawing.Y.Tick.Marker = plot.LogScale{}, decades(drawing.Y.Min, drawing.Y.Max)
	default:
		drawing.Y.Min = min(0, drawing.Y.Min)
	}
	return p.marks(drawing)
}

// marks draws a line for each mark, or a shade for one that lasts, with rows of their own for the words of neighbours.
func (p Plot) marks(drawing *plot.Plot) error {
	low, high := drawing.Y.Min, drawing.Y.Max
	below := func(part float64) float64 { return high - part*(high-low) } // the top
	if p.Kind == Lines && p.Y.Log {
		below = func(part float64) float64 { return high * math.Pow(low/high, part) }
	}
	for n, m := range p.Marks {
		if !drawable(m.X, p.Kind == Dots && p.Y.Log) {
			continue
		}
		end := m.X
		if drawable(m.To, false) && m.To > m.X {
			end = m.To
		}
		shade, err := plotter.NewPolygon(plotter.XYs{{X: m.X, Y: low}, {X: m.X, Y: high}, {X: end, Y: high}, {X: end, Y: low}})
		if err != nil {
			return err
		}
		shade.Color, shade.LineStyle.Width = color.NRGBA{0xd5, 0x5e, 0x00, 0x40}, 0
		if end == m.X {
			shade.LineStyle.Width, shade.LineStyle.Dashes = vg.Points(0.7), []vg.Length{vg.Points(4), vg.Points(3)}
		}
		begins, align := m.X, draw.XLeft
		if end > (drawing.X.Min+drawing.X.Max)/2 {
			begins, align = end, draw.XRight // there is no room behind it
		}
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: begins, Y: below(float64(n%8+1) / 14)}}, Labels: []string{" " + m.Label + " "}})
		if err != nil {
			return err
		}
		sans(9, &label.TextStyle[0])
		label.TextStyle[0].XAlign = align
		drawing.Add(shade, label)
	}
	return nil
}

// dots draws a dot with its number for each category, and its whiskers.
func (p Plot) dots(drawing *plot.Plot) error {
	for n, s := range p.Series {
		var at plotter.XYs
		var labels plotter.XYLabels
		for i, value := range s.Y {
			if i >= len(p.Categories) || !drawable(value, p.Y.Log) {
				continue
			}
			y, low, high := float64(len(p.Categories)-1-i), value, value // the first is on top
			if i < min(len(s.Low), len(s.High)) && drawable(s.Low[i], p.Y.Log) && drawable(s.High[i], p.Y.Log) {
				low, high = s.Low[i], s.High[i]
			}
			whiskers, err := plotter.NewLine(plotter.XYs{{X: low, Y: y}, {X: high, Y: y}})
			if err != nil {
				return err
			}
			whiskers.Color, whiskers.Width = palette(n), vg.Points(1.5)
			drawing.Add(whiskers)
			at = append(at, plotter.XY{X: value, Y: y})
			labels.XYs, labels.Labels = append(labels.XYs, plotter.XY{X: max(value, high), Y: y}), append(labels.Labels, Number(value))
		}
		if len(at) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(at)
		told, err2 := plotter.NewLabels(labels)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		for i := range told.TextStyle {
			sans(10, &told.TextStyle[i])
		}
		dots.Color, dots.Shape, dots.Radius = palette(n), draw.CircleGlyph{}, vg.Points(4)
		told.Offset = vg.Point{X: vg.Points(7), Y: -vg.Points(3.5)}
		if drawing.Add(dots, told); s.Name != "" {
			drawing.Legend.Add(s.Name, dots)
		}
	}
	for _, m := range p.Marks { // which are in the picture, wherever dots are
		if drawable(m.X, p.Y.Log) {
			drawing.X.Min, drawing.X.Max = min(drawing.X.Min, m.X), max(drawing.X.Max, m.X)
		}
	}
	drawing.NominalY(p.shortened()...)
	drawing.Y.Min, drawing.Y.Max = -0.6, float64(len(p.Categories))-0.4
	switch {
	case !(drawing.X.Min <= drawing.X.Max): // nothing was measured
		drawing.X.Min, drawing.X.Max = 0, 1
		return nil
	case p.Y.Log:
		drawing.X.Min, drawing.X.Max = drawing.X.Min/1.3, drawing.X.Max*1.3
		drawing.X.Scale, drawing.X.Tick.Marker = plot.LogScale{}, decades(drawing.X.Min, drawing.X.Max)
	default:
		drawing.X.Min = min(0, drawing.X.Min)
	}
	return p.marks(drawing)
}

// decades are ticks at 1, 2 and 5 of each power of ten, which tell powers alone if there are several.
func decades(low, high float64) (ticks plot.ConstantTicks) {
	few := math.Floor(math.Log10(high))-math.Ceil(math.Log10(low)) < 1
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for _, step := range []float64{1, 2, 5} {
			tick := plot.Tick{Value: step * math.Pow(10, power)}
			if few || step == 1 {
				tick.Label = Number(tick.Value)
			}
			if tick.Value >= low && tick.Value <= high {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// shortened are the categories from below, with names that leave room for bars. A long name keeps its beginning and its end. If two were
// alike then, all stay whole.
func (p Plot) shortened() (names []string) {
	const half = 20
	for _, name := range p.Categories {
		if letters := []rune(name); len(letters) > 2*half {
			name = string(letters[:half-1]) + "…" + string(letters[len(letters)-half:])
		}
		if slices.Contains(names, name) {
			names = slices.Clone(p.Categories)
			slices.Reverse(names)
			return names
		}
		names = append([]string{name}, names...)
	}
	return names
}
