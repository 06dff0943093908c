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

// warp is how an axis is bent: it places values, and tells of a place which value is there.
type warp struct {
	place func(value float64) float64
	ticks plot.Ticker
}

// straight places values as they are.
func straight() warp {
	return warp{func(value float64) float64 { return value }, plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := plot.DefaultTicks{}.Ticks(low, high)
		for i, t := range ticks {
			if t.Label != "" {
				ticks[i].Label = Number(t.Value)
			}
		}
		return ticks
	})}
}

// logarithmic has equal steps for powers of ten. There is no place for 0 and less.
func logarithmic() warp {
	return warp{math.Log10, wholes(func(n float64) float64 { return math.Pow(10, n) })}
}

// percentiles has equal steps from 0 to 90, to 99, to 99.9 and so on, as HdrHistogram's plots have: the tail matters most. There is
// no place for the 100th, which would be infinitely far.
func percentiles() warp {
	return warp{
		func(percentile float64) float64 { return -math.Log10(1 - percentile/100) },
		wholes(func(n float64) float64 { return 100 - math.Pow(10, 2-n) }),
	}
}

// wholes has ticks at whole numbers.
func wholes(value func(n float64) float64) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) (ticks []plot.Tick) {
		for n := math.Ceil(low); n <= high; n++ {
			ticks = append(ticks, plot.Tick{Value: n, Label: Number(value(n))})
		}
		return ticks
	})
}

func (a Axis) warp() warp {
	if a.Log {
		return logarithmic()
	}
	return straight()
}

// has reports whether a place is one: what is no number, or further away than any figure, has none.
func has(place float64) bool { return math.Abs(place) <= mostTold }

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
	x, y := p.X.warp(), p.Y.warp()
	if p.Kind == Percentiles {
		x = percentiles()
	}
	drawing.X.Tick.Marker, drawing.Y.Tick.Marker = x.ticks, y.ticks
	if !p.Y.Log {
		drawing.Y.Min = 0
	}
	for n, s := range p.Series {
		var run plotter.XYs
		named := false
		for i := range append(slices.Clip(s.X), math.NaN()) {
			if i < min(len(s.X), len(s.Y)) && has(x.place(s.X[i])) && has(y.place(s.Y[i])) {
				run = append(run, plotter.XY{X: x.place(s.X[i]), Y: y.place(s.Y[i])})
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
			run = nil
		}
	}
	if !has(drawing.X.Max) || !has(drawing.Y.Max) { // nothing was measured
		drawing.X.Min, drawing.X.Max, drawing.Y.Min, drawing.Y.Max = 0, 1, 0, 1
		return nil
	}
	for n, m := range p.Marks {
		if !has(x.place(m.X)) {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: x.place(m.X), Y: drawing.Y.Min}, {X: x.place(m.X), Y: drawing.Y.Max}})
		if err != nil {
			return err
		}
		line.Dashes, line.Color = []vg.Length{vg.Points(4), vg.Points(3)}, palette(6)
		if m.Broke {
			line.Color = color.RGBA{0xb3, 0x26, 0x1e, 0xff}
		}
		step := (drawing.Y.Max - drawing.Y.Min) / 14 // so that neighbours have rows of their own
		label, err := plotter.NewLabels(plotter.XYLabels{
			XYs: plotter.XYs{{X: x.place(m.X), Y: drawing.Y.Max - float64(n%8+1)*step}}, Labels: []string{" " + m.Label},
		})
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
	scale, base := p.Y.warp(), 0.0
	if p.Y.Log { // bars begin below the least value, otherwise that would have no size
		for _, s := range p.Series {
			for _, value := range s.Y {
				if place := scale.place(value); has(place) {
					base = min(base, math.Floor(place)-1)
				}
			}
		}
	}
	drawing.X.Min = 0
	drawing.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := scale.ticks.Ticks(low+base, high+base)
		for i := range ticks {
			ticks[i].Value -= base
		}
		return ticks
	})
	drawing.NominalY(p.shortened()...)
	thick := vg.Points(12)
	for n, s := range p.Series {
		values, labels := make(plotter.Values, len(p.Categories)), plotter.XYLabels{}
		for i := range values {
			value := math.NaN()
			if i < len(s.Y) {
				value = s.Y[i]
			}
			if place := scale.place(value); has(place) {
				values[i] = place - base
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
