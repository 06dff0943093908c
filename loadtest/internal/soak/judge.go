package soak

import (
	"fmt"
	"math"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// Course is how the judged part of a run went.
type Course struct {
	Length     time.Duration
	Waits      [quarters]*latency.Histogram // of all requests that were due, from their planned times
	Lags       [quarters]*latency.Histogram // of the requests for which a connection was free
	Memory     Line                         // of the service, resident, in bytes
	Goroutines Line
	Before     float64 // goroutines before the first request; 0: not known
	AtRest     float64 // goroutines when all was done; 0: not known
	Accepted   int64   // orders in the second half
}

const (
	quarters = 4 // of the judged part of a run
	megabyte = 1e6
)

// The bounds of a course.
const (
	mostDrift      = 1.5  // p99 of the last quarter, in parts of the first's
	mostGrowth     = 0.10 // of the memory in the second half, in parts of what it was in the middle
	mostGoroutines = 1.25 // of the last quarter, in parts of the first's; at rest, in parts of those before the run
	// leastLength is the length of a run whose memory is judged: before that a service fills what it keeps for good.
	leastLength = 5 * time.Minute
	// leastStart is the length of a run whose goroutines are judged: the workers of a SKU start with its first orders.
	leastStart = time.Minute
	// leastAnswers is the number of answers from which on the p99 of a quarter is more than its slowest few.
	leastAnswers = 500
)

// Verdict is the result of a course.
type Verdict struct {
	Sentences []string
	Targets   []report.Target
	Notes     []string // why a target does not apply
	Figures   []report.Figure
}

func (v *Verdict) say(format string, args ...any) {
	v.Sentences = append(v.Sentences, fmt.Sprintf(format, args...))
}

func (v *Verdict) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

func (v *Verdict) figure(name, unit string, value float64) {
	v.Figures = append(v.Figures, report.Figure{Name: name, Unit: unit, Value: value})
}

func (v *Verdict) atMost(what string, value, bound float64) {
	v.Targets = append(v.Targets, report.AtMost(what, value, bound))
}

// Judge is the verdict on a course: a pure function.
func Judge(c Course) (v Verdict) {
	v.latency(c)
	v.memory(c)
	v.goroutines(c)
	v.rest(c)
	return v
}

// latency compares the last quarter with the first.
func (v *Verdict) latency(c Course) {
	first, last := c.Waits[0], c.Waits[quarters-1]
	if first.Count() == 0 || last.Count() == 0 {
		v.note("there are no answers in the first or the last quarter: the drift of latency is not known")
		return
	}
	before, after := compare.Milliseconds(first.Quantile(99)), compare.Milliseconds(last.Quantile(99))
	drift, meaning := compare.Ratio(after, before), "no drift"
	if drift > mostDrift {
		meaning = "answers take longer as time goes by"
		if late := compare.Milliseconds(c.Lags[quarters-1].Quantile(99)); late > load.MostOwnLag {
			meaning += fmt.Sprintf(", or the machine was busy with something else, for the generator itself was %s ms late in the last quarter (%s in the first)",
				report.Number(late), report.Number(compare.Milliseconds(c.Lags[0].Quantile(99))))
		}
	}
	v.say("99%% of the answers came within %s ms in the first quarter and %s ms in the last, %s times that: %s.",
		report.Number(before), report.Number(after), report.Number(drift), meaning)
	v.figure("drift of p99", "", drift)
	if min(first.Count(), last.Count()) < leastAnswers {
		v.note("quarters of fewer than %d answers are not held to a drift: their p99 is their slowest few", leastAnswers)
		return
	}
	v.atMost("p99 of the last quarter, in parts of the first's", drift, mostDrift)
}

// memory looks at the second half: in the first half a service fills what it keeps for good.
func (v *Verdict) memory(c Course) {
	t, ok := c.Memory.after(c.Length / 2).trend()
	if !ok {
		v.note("the service's memory is not known: it tells it at its admin listener, on Linux")
		return
	}
	perHour := t.slope * time.Hour.Seconds() / megabyte
	v.figure("memory slope", "MB/h", perHour)
	if c.Length < leastLength {
		v.say("Resident memory went from %s to %s MB over the second half; what that comes to, a run this short does not tell.",
			report.Number(t.from/megabyte), report.Number(t.to()/megabyte))
		v.note("runs of less than %v are not held to a memory: a service still fills what it keeps for good", leastLength)
		return
	}
	v.Sentences = append(v.Sentences, t.sentence(perHour, c.Accepted))
	v.atMost("growth of resident memory in the second half, in parts of it", compare.Ratio(t.growth(), t.from), mostGrowth)
}

// sentence says what a trend of memory means.
func (t trend) sentence(perHour float64, accepted int64) string {
	if math.Abs(t.growth()) <= 2*t.noise {
		return fmt.Sprintf("Resident memory stood at %s MB over the second half: what it changed, %s MB, is not more than it wavers.",
			report.Number(t.to()/megabyte), signed(t.growth()/megabyte))
	}
	text := fmt.Sprintf("Resident memory went from %s to %s MB over the second half, %s MB an hour",
		report.Number(t.from/megabyte), report.Number(t.to()/megabyte), signed(perHour))
	if t.slope <= 0 {
		return text + ": nothing is lost."
	}
	if accepted > 0 {
		text += fmt.Sprintf(", %s bytes for each accepted order", report.Number(t.growth()/float64(accepted)))
	}
	if compare.Ratio(t.growth(), t.from) <= mostGrowth {
		return text + ": too little to tell a leak from what a service fills for good; a longer run tells."
	}
	doubles := t.to() / t.slope // seconds
	if doubles > (365 * 24 * time.Hour).Seconds() {
		return text + ": it would take more than a year to double."
	}
	return text + fmt.Sprintf(": at that rate it doubles in %v.", time.Duration(doubles*float64(time.Second)).Round(time.Minute))
}

func signed(value float64) string {
	if value < 0 {
		return "-" + report.Number(-value)
	}
	return "+" + report.Number(value)
}

// goroutines compares the last quarter with the first.
func (v *Verdict) goroutines(c Course) {
	first, last := c.Goroutines.before(c.Length/quarters), c.Goroutines.after(c.Length-c.Length/quarters)
	if len(first.Values) == 0 || len(last.Values) == 0 {
		v.note("the service's goroutines are not known: it tells them at its admin listener")
		return
	}
	before, after := compare.Median(first.Values), compare.Median(last.Values)
	v.figure("goroutines in the last quarter", "", after)
	meaning := ": they are given back"
	switch {
	case c.Length < leastStart:
		meaning = "; what that comes to, a run this short does not tell"
		v.note("runs of less than %v are not held to the growth of their goroutines: the workers of the SKUs are still starting", leastStart)
	case after > mostGoroutines*before:
		meaning = ": not all of them end"
	}
	v.say("The service had %s goroutines in the first quarter and %s in the last%s.", report.Number(before), report.Number(after), meaning)
	if c.Length >= leastStart {
		v.atMost("goroutines of the last quarter, in parts of the first's", compare.Ratio(after, before), mostGoroutines)
	}
}

// rest compares the service after the run with before it, whatever the length of the run.
func (v *Verdict) rest(c Course) {
	switch {
	case c.Before > 0 && c.AtRest > 0:
		v.say("It had %s goroutines before the first request, and %s when all was done.", report.Number(c.Before), report.Number(c.AtRest))
		v.atMost("goroutines when all was done, in parts of those before the run", compare.Ratio(c.AtRest, c.Before), mostGoroutines)
	case len(c.Goroutines.Values) > 0:
		v.note("the service's goroutines at rest are not known: the run was interrupted, or it does not tell them any more")
	}
}

// Line is a value over time.
type Line struct{ Seconds, Values []float64 }

// after is the part of a line from a time on.
func (l Line) after(from time.Duration) Line {
	n, _ := slices.BinarySearch(l.Seconds, from.Seconds())
	return Line{l.Seconds[n:], l.Values[n:]}
}

// before is the part of a line up to a time.
func (l Line) before(to time.Duration) Line {
	n, _ := slices.BinarySearch(l.Seconds, to.Seconds())
	return Line{l.Seconds[:n], l.Values[:n]}
}

// trend is a straight line through values.
type trend struct {
	from  float64 // where it begins
	slope float64 // a second
	took  float64 // seconds
	noise float64 // by how much values lie off it: the median
}

func (t trend) growth() float64 { return t.slope * t.took }
func (t trend) to() float64     { return t.from + t.growth() }

const (
	// leastPoints is how many values make a trend.
	leastPoints = 8
	// mostPoints is how many of them are looked at: each with each.
	mostPoints = 400
)

// thinned leaves out values of a long line, evenly.
func (l Line) thinned() (t Line) {
	n := len(l.Values)
	if n <= mostPoints {
		return l
	}
	for i := range mostPoints {
		at := i * (n - 1) / (mostPoints - 1)
		t.Seconds, t.Values = append(t.Seconds, l.Seconds[at]), append(t.Values, l.Values[at])
	}
	return t
}

// trend draws the line of Theil and Sen, whose slope is the median of the slopes between any two values: a peak, or a tooth of
// the garbage collector's saw, does not bend it.
func (l Line) trend() (t trend, ok bool) {
	l = l.thinned()
	n := len(l.Values)
	if n < leastPoints || l.Seconds[n-1] <= l.Seconds[0] {
		return trend{}, false
	}
	var slopes []float64
	for i := range n {
		for j := range i {
			if apart := l.Seconds[i] - l.Seconds[j]; apart > 0 {
				slopes = append(slopes, (l.Values[i]-l.Values[j])/apart)
			}
		}
	}
	t.slope, t.took = compare.Median(slopes), l.Seconds[n-1]-l.Seconds[0]
	off := make([]float64, n)
	for i := range off {
		off[i] = l.Values[i] - t.slope*(l.Seconds[i]-l.Seconds[0])
	}
	t.from = compare.Median(off)
	for i := range off {
		off[i] = math.Abs(off[i] - t.from)
	}
	t.noise = compare.Median(off)
	return t, true
}
