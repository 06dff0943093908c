package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
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
		{0x5a, 0x60, 0x68, 0xff},
	}
	return all[n%len(all)]
}

// drawable reports whether a number has a place in a drawing: on a logarithmic axis there is none for 0 and less, and on no axis for
// what is further away than any figure.
func drawable(value float64, log bool) bool {
	return math.Abs(value) <= mostTold && (!log || value >= 1/mostTold)
}

// svg is the plot as a part of a page.
func (p Plot) svg() (string, error) {
	drawing := plot.New()
	drawing.X.Label.Text, drawing.Y.Label.Text = p.X.Label, p.Y.Label
	height, err := vg.Points(240), error(nil)
	if p.Kind == Bars {
		drawing.X.Label.Text, drawing.Y.Label.Text = p.Y.Label, p.X.Label
		height = vg.Points(60 + float64(len(p.Categories)*(14*len(p.Series)+8)))
		err = p.bars(drawing)
	} else {
		err = p.lines(drawing)
	}
	if err != nil {
		return "", fmt.Errorf("draw %s: %w", p.Name, err)
	}
	legend := drawing.Legend // which has its place above what it names
	legend.Top, legend.Left, legend.TextStyle.Font.Size, drawing.Legend = true, true, vg.Points(9), plot.NewLegend()
	above := vg.Points(float64(6 + 11*len(p.Series)))
	canvas := vgsvg.New(vg.Points(480), height+above)
	paper := draw.New(canvas)
	legend.Draw(paper)
	drawing.Draw(draw.Crop(paper, 0, -vg.Points(30), 0, -above)) // with room for what stands behind the longest bar
	var text bytes.Buffer
	if _, err := canvas.WriteTo(&text); err != nil {
		return "", fmt.Errorf("write %s: %w", p.Name, err)
	}
	_, image, _ := strings.Cut(text.String(), "<svg") // without the head of a file, and names that a page knows
	for _, name := range []string{"xmlns", "xmlns:xlink"} {
		before, rest, is := strings.Cut(image, name+`="`)
		if _, after, ends := strings.Cut(rest, `"`); is && ends {
			image = before + after
		}
	}
	return fmt.Sprintf(`<svg class="plot" role="img" aria-label="%s"%s`, html.EscapeString(p.Title), image), nil
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
		drawing.Y.Scale, drawing.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	default:
		drawing.Y.Min = min(0, drawing.Y.Min)
	}
	return p.marks(drawing)
}

// marks draws the marks, with rows of their own for the words of neighbours.
func (p Plot) marks(drawing *plot.Plot) error {
	low, high := drawing.Y.Min, drawing.Y.Max
	below := func(part float64) float64 { return high - part*(high-low) } // the top
	if p.Y.Log {
		below = func(part float64) float64 { return high * math.Pow(low/high, part) }
	}
	for n, m := range p.Marks {
		if !drawable(m.X, false) {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: m.X, Y: low}, {X: m.X, Y: high}})
		if err != nil {
			return err
		}
		line.Dashes, line.Color = []vg.Length{vg.Points(4), vg.Points(3)}, palette(6)
		if m.Broke {
			line.Color = color.RGBA{0xb3, 0x26, 0x1e, 0xff}
		}
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: m.X, Y: below(float64(n%8+1) / 14)}}, Labels: []string{" " + m.Label}})
		if err != nil {
			return err
		}
		label.TextStyle[0].Font.Size, label.TextStyle[0].Color = vg.Points(8), line.Color
		drawing.Add(line, label)
	}
	return nil
}

// bars draws a group of bars for each category. They are horizontal, because names are long.
func (p Plot) bars(drawing *plot.Plot) error {
	drawing.X.Min = 0
	drawing.NominalY(p.shortened()...)
	thick := vg.Points(12)
	for n, s := range p.Series {
		values, labels := make(plotter.Values, len(p.Categories)), plotter.XYLabels{}
		for i := range values {
			value := math.NaN()
			if i < len(s.Y) {
				value = s.Y[i]
			}
			if drawable(value, false) {
				values[i] = value
			}
			at := len(values) - 1 - i // the first is on top
			labels.XYs = append(labels.XYs, plotter.XY{X: values[i], Y: float64(at)})
			labels.Labels = append(labels.Labels, " "+Number(value))
		}
		slices.Reverse(values)
		bars, err := plotter.NewBarChart(values, thick)
		if err != nil {
			return err
		}
		bars.Horizontal, bars.XMin, bars.Color, bars.LineStyle.Width = true, 0, palette(n), 0
		bars.Offset = vg.Length(float64(len(p.Series)-1)/2-float64(n)) * thick
		told, err := plotter.NewLabels(labels)
		if err != nil {
			return err
		}
		told.Offset = vg.Point{Y: bars.Offset - vg.Points(3)}
		for i := range told.TextStyle {
			told.TextStyle[i].Font.Size = vg.Points(8)
		}
		if drawing.Add(bars, told); s.Name != "" {
			drawing.Legend.Add(s.Name, bars)
		}
	}
	return nil
}

// shortened are the categories from below, with names that leave room for bars.
func (p Plot) shortened() (names []string) {
	const most = 40
	for _, name := range p.Categories {
		if letters := []rune(name); len(letters) > most {
			name = string(letters[:most-1]) + "…"
		}
		names = append([]string{name}, names...)
	}
	return names
}
