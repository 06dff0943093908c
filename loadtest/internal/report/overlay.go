package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Comparable is an error if reports of two scenarios cannot be compared.
func Comparable(this, other string) error {
	if this != other {
		return fmt.Errorf("a report of the scenario %s cannot be compared with one of %s", other, this)
	}
	return nil
}

// Overlay is this run's document with another run of the same scenario: plots of one name have the series of both, and a section in
// front compares the figures, and lists how the runs differ. Everything else is this run's.
func Overlay(this, other Document) Document {
	laid := this
	laid.Sections = []Section{compared(this, other)}
	plots := map[string]Plot{}
	for _, s := range other.Sections {
		for _, p := range s.Plots {
			plots[p.Name] = p
		}
	}
	for _, s := range this.Sections {
		s.Plots = slices.Clone(s.Plots)
		for i, p := range s.Plots {
			if namesake, has := plots[p.Name]; has && namesake.Kind == p.Kind {
				s.Plots[i] = overlayPlot(p, namesake)
			}
		}
		laid.Sections = append(laid.Sections, s)
	}
	return laid
}

// overlayPlot is a plot with the series of another run: each is behind its namesake, and those without one are last.
func overlayPlot(p, other Plot) Plot {
	these := p.Series
	p.Categories, p.Marks, p.Series = slices.Clone(p.Categories), slices.Clone(p.Marks), nil
	for _, category := range other.Categories {
		if !slices.Contains(p.Categories, category) {
			p.Categories = append(p.Categories, category)
		}
	}
	others := slices.Clone(other.Series)
	for i, s := range others {
		others[i].Name, others[i].Other = otherName(cmp.Or(s.Name, thisRun)), true
		if p.Kind == Bars {
			others[i].Y = rearranged(s.Y, other.Categories, p.Categories)
		}
	}
	for _, s := range these {
		s.Name = cmp.Or(s.Name, thisRun)
		p.Series = append(p.Series, s)
		if i := slices.IndexFunc(others, func(o Series) bool { return o.Name == otherName(s.Name) }); i >= 0 {
			p.Series = append(p.Series, others[i])
			others = slices.Delete(others, i, i+1)
		}
	}
	p.Series = append(p.Series, others...)
	for _, m := range other.Marks {
		if slices.Contains(p.Marks, m) {
			continue // the same instant of both
		}
		m.Label, m.Other = otherName(m.Label), true
		p.Marks = append(p.Marks, m)
	}
	return p
}

// rearranged are values of some categories in the order of others, with a gap where there is none.
func rearranged(values []float64, from, to []string) (all []float64) {
	for _, category := range to {
		value := math.NaN()
		if i := slices.Index(from, category); i >= 0 && i < len(values) {
			value = values[i]
		}
		all = append(all, value)
	}
	return all
}

// compared has the figures of both, and how the runs differ.
func compared(this, other Document) Section {
	table, figures := &Table{Columns: []string{"", "this run", "other run", "this / other"}}, slices.Clone(this.Figures)
	for _, f := range other.Figures {
		if math.IsNaN(figure(this, f)) {
			figures = append(figures, f)
		}
	}
	for _, f := range figures {
		here, there := figure(this, f), figure(other, f)
		name := strings.TrimSuffix(f.Name+", "+f.Unit, ", ")
		table.Rows = append(table.Rows, []string{name, Number(here), Number(there), Number(here / there)})
	}
	return Section{Name: "compared", Table: table, Notes: differences(this, other)}
}

// figure is the value of a document's figure of that name and unit, or no number.
func figure(d Document, like Figure) float64 {
	for _, f := range d.Figures {
		if f.Name == like.Name && f.Unit == like.Unit {
			return f.Value
		}
	}
	return math.NaN()
}

// differences are what has to be known of the other run before figures are compared.
func differences(this, other Document) (notes []string) {
	notes = append(notes, fmt.Sprintf("the other run: started %s, took %s", other.Started.Format(time.RFC1123), other.Duration()))
	if other.Interrupted {
		notes = append(notes, "the other run was interrupted")
	}
	if !other.AuditOK {
		notes = append(notes, "the audit of the other run FAILED")
	}
	if this.Seed != other.Seed {
		notes = append(notes, fmt.Sprintf("seed: %d here, %d there", this.Seed, other.Seed))
	}
	notes = append(notes, unlike("--", this.Flags, other.Flags)...)
	return append(notes, unlike("", this.Environment.Facts(), other.Environment.Facts())...)
}

// unlike are the settings in which two runs differ. Of several of one name, those that both have are left out.
func unlike(prefix string, this, other []Flag) (notes []string) {
	values, names := [2]map[string]string{{}, {}}, []string{}
	for run, settings := range [][]Flag{this, other} {
		for _, f := range settings {
			if f.Value == "" || slices.Contains([][]Flag{other, this}[run], f) {
				continue
			}
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
			values[run][f.Name] = strings.TrimPrefix(values[run][f.Name]+"; "+f.Value, "; ")
		}
	}
	for _, name := range names {
		here, there := cmp.Or(values[0][name], "none"), cmp.Or(values[1][name], "none")
		notes = append(notes, fmt.Sprintf("%s%s: %s here, %s there", prefix, name, here, there))
	}
	return notes
}

// thisRun names a series without a name once there is another one.
const thisRun = "this run"

// otherName names what belongs to the other run.
func otherName(name string) string {
	if name == thisRun {
		return "other run"
	}
	return name + " (other)"
}
