package lockbench

import (
	"fmt"

	"inventory/loadtest/internal/report"
)

// leftOut is told with every result.
const leftOut = "rueidislock is not among the peers: its module could not be had where this was made."

// Document is the result as it is told. What a lock is audited for is that it lets in one at a time.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "locks", Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted,
		Environment: r.Environment, Wrong: r.wrong(),
	}
	d.AuditOK = len(d.Wrong) == 0
	met, targets := 0, 0
	for _, c := range r.Cases {
		s := c.section()
		d.Sections = append(d.Sections, s)
		d.Summary, d.Figures = append(d.Summary, c.sentence()), append(d.Figures, c.figures()...)
		for _, t := range s.Targets {
			targets++
			if t.Met {
				met++
			}
		}
	}
	if s := knownFlaws(r.Cases); len(s.Table.Rows) > 0 {
		d.Sections = append(d.Sections, s)
	}
	d.Summary = append([]string{fmt.Sprintf("%d of %d targets are met.", met, targets)}, append(d.Summary, append(r.LeftOut, leftOut)...)...)
	cases := r.Cases
	if cases == nil {
		cases = []Case{}
	}
	return d, d.SetOwn(map[string]any{"cases": cases})
}

// section is a case as it is told.
func (c Case) section() report.Section {
	s := report.Section{Name: c.Name, Table: c.table(), Plots: c.plots(), Targets: c.Targets()}
	for _, contender := range c.Contenders {
		if contender.Note != "" {
			s.Notes = append(s.Notes, fmt.Sprintf("note: %s: %s", contender.Name, contender.Note))
		}
	}
	if c.Unfinished {
		s.Notes = append(s.Notes, "stopped early: these are the rounds until then, and no target was tried")
	}
	return s
}

// ours is the first contender of ours.
func (c Case) ours() Contender {
	for _, contender := range c.Contenders {
		if contender.Ours {
			return contender
		}
	}
	return Contender{}
}

// sentence is what a case comes to.
func (c Case) sentence() string {
	ours := c.ours()
	if ours.Name == "" {
		return c.Name + ": none of ours came to its turn."
	}
	text := fmt.Sprintf("%s: %s locks %s times a second", c.Name, ours.Name, report.Number(ours.Figures[PerSecond]))
	if best := c.bestPeer(PerSecond)[PerSecond]; best > 0 {
		text += fmt.Sprintf(", %.2f times as often as the fastest peer", ours.Figures[PerSecond]/best)
	}
	return text + fmt.Sprintf("; 99%% wait no longer than %s ms.", report.Number(ours.Figures[WaitP99]))
}

// figures are those by which two runs are told apart.
func (c Case) figures() []report.Figure {
	ours := c.ours()
	if ours.Name == "" {
		return nil
	}
	return []report.Figure{
		{Name: c.Name + ", " + ours.Name, Unit: "/s", Value: ours.Figures[PerSecond]},
		{Name: c.Name + ", " + ours.Name + ", wait p99", Unit: "ms", Value: ours.Figures[WaitP99]},
	}
}

// leastWait is what histograms can tell, in milliseconds. There is no zero on an axis of powers of ten.
const leastWait = 0.001

// plots are how often contenders lock, and how long they wait. Who only sleeps waits for nothing.
func (c Case) plots() []report.Plot {
	cycles := report.Plot{
		Name: report.PlotName(c.Name, "cycles"), Title: c.Name + ": locked and unlocked, times a second",
		Kind: report.Bars, Y: report.Axis{Label: "cycles a second"}, Series: []report.Series{{Name: "cycles a second"}},
	}
	waits := report.Plot{
		Name: report.PlotName(c.Name, "wait"), Title: c.Name + ": from the call of Lock to its return",
		Kind: report.Bars, Y: report.Axis{Label: "ms", Log: true}, Series: []report.Series{{Name: "p50"}, {Name: "p99"}, {Name: "longest"}},
	}
	for _, contender := range c.Contenders {
		cycles.Categories = append(cycles.Categories, contender.Name)
		cycles.Series[0].Y = append(cycles.Series[0].Y, contender.Figures[PerSecond])
		if contender.Name == sleeping {
			continue
		}
		waits.Categories = append(waits.Categories, contender.Name)
		for i, figure := range []string{WaitP50, WaitP99, WaitMax} {
			waits.Series[i].Y = append(waits.Series[i].Y, max(contender.Figures[figure], leastWait))
		}
	}
	return []report.Plot{cycles, waits}
}

// measurement is how figures came about.
func (s Scale) measurement() string {
	return fmt.Sprintf("rounds: %d of %.3g s", s.Rounds, s.Window.Seconds())
}

// Targets are those of a case that was finished.
func (c Case) Targets() []report.Target {
	for _, q := range questions() {
		if q.name == c.Name && q.targets != nil && !c.Unfinished {
			return q.targets(c)
		}
	}
	return nil
}
