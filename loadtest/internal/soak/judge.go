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

// Course is what time has brought, over the part of the run that is judged.
type Course struct {
	Length     time.Duration
	Waits      [quarters]*latency.Histogram // of all who were due, from the planned send
	Lags       [quarters]*latency.Histogram // of the requests for which a connection was free, behind the planned send
	Memory     Line                         // of the service, resident, in bytes
	Goroutines Line
	Before     float64 // goroutines before the first request; 0: not known, as the next
	AtRest     float64 // and when all has been done
	Accepted   int64   // orders in the second half
}

// quarters are the parts that are held against one another.
const quarters = 4

// What a course is held to.
const (
	mostDrift      = 1.5  // p99 of the last quarter, in parts of the first's
	mostGrowth     = 0.10 // of the memory in the second half, in parts of what it was in the middle
	mostGoroutines = 1.25 // of the last quarter, in parts of the first's; and at rest, in parts of those before the run
	// leastLength is how long a run must be for its memory to say anything: before that it fills what it keeps for good.
	leastLength = 5 * time.Minute
	// leastStart is how long a run must be for its goroutines to say anything: a SKU's workers start with its first orders and
	// end when they have rested, and a busy machine puts that off.
	leastStart = time.Minute
	// leastAnswers is how many answers a quarter must have for its p99 to be more than its slowest few.
	leastAnswers = 500
)

// Verdict is what a course comes to.
type Verdict struct {
	Sentences []string
	Targets   []report.Target
	Notes     []string // why it is not held to a target
	Figures   []report.Figure
}

// Judge tells what a course comes to. It is a pure function of its argument.
func Judge(c Course) (v Verdict) {
	v.latency(c)
	v.memory(c)
	v.goroutines(c)
	v.rest(c)
	return v
}

// latency holds the last quarter against the first.
func (v *Verdict) latency(c Course) {
	first, last := c.Waits[0], c.Waits[quarters-1]
	if first.Count() == 0 || last.Count() == 0 {
		v.Notes = append(v.Notes, "there are no answers in the first or the last quarter: the drift of latency is not known")
		return
	}
	before, after := compare.Milliseconds(first.Quantile(99)), compare.Milliseconds(last.Quantile(99))
	drift := compare.Ratio(after, before)
	said := "no drift"
	if drift > mostDrift {
		said = "answers take longer as time goes by"
		if late := compare.Milliseconds(c.Lags[quarters-1].Quantile(99)); late > load.MostOwnLag {
			said += fmt.Sprintf(", or the machine was busy with something else, for the generator itself was %s ms late in the last quarter (%s in the first)",
				report.Number(late), report.Number(compare.Milliseconds(c.Lags[0].Quantile(99))))
		}
	}
	v.Sentences = append(v.Sentences, fmt.Sprintf("99%% of the answers came within %s ms in the first quarter and %s ms in the last, %s times that: %s.",
		report.Number(before), report.Number(after), report.Number(drift), said))
	v.Figures = append(v.Figures, report.Figure{Name: "drift of p99", Value: drift})
	if min(first.Count(), last.Count()) < leastAnswers {
		v.Notes = append(v.Notes, fmt.Sprintf("quarters of fewer than %d answers are not held to a drift: their p99 is their slowest few", leastAnswers))
		return
	}
	v.Targets = append(v.Targets, report.AtMost("p99 of the last quarter, in parts of the first's", drift, mostDrift))
}

// memory looks at the second half: in the first one a service fills what it keeps for good.
func (v *Verdict) memory(c Course) {
	half := c.Memory.after(c.Length / 2)
	t, ok := half.trend()
	if !ok {
		v.Notes = append(v.Notes, "the service's memory is not known: it tells it at its admin listener, on Linux")
		return
	}
	perHour := t.slope * time.Hour.Seconds() / megabyte
	v.Figures = append(v.Figures, report.Figure{Name: "memory slope", Unit: "MB/h", Value: perHour})
	if c.Length < leastLength {
		v.Sentences = append(v.Sentences, fmt.Sprintf("Resident memory went from %s to %s MB over the second half; what that comes to, a run this short does not tell.",
			report.Number(t.from/megabyte), report.Number(t.to()/megabyte)))
		v.Notes = append(v.Notes, fmt.Sprintf("runs of less than %v are not held to a memory: a service still fills what it keeps for good", leastLength))
		return
	}
	v.Sentences = append(v.Sentences, t.sentence(perHour, c.Accepted))
	v.Targets = append(v.Targets, report.AtMost("growth of resident memory in the second half, in parts of it", compare.Ratio(t.growth(), t.from), mostGrowth))
}

const megabyte = 1e6

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

// goroutines holds the last quarter against the first.
func (v *Verdict) goroutines(c Course) {
	first, last := c.Goroutines.before(c.Length/quarters), c.Goroutines.after(c.Length-c.Length/quarters)
	if len(first.Values) == 0 || len(last.Values) == 0 {
		v.Notes = append(v.Notes, "the service's goroutines are not known: it tells them at its admin listener")
		return
	}
	before, after := compare.Median(first.Values), compare.Median(last.Values)
	v.Figures = append(v.Figures, report.Figure{Name: "goroutines in the last quarter", Value: after})
	if c.Length < leastStart {
		v.Sentences = append(v.Sentences, fmt.Sprintf("The service had %s goroutines in the first quarter and %s in the last; what that comes to, a run this short does not tell.",
			report.Number(before), report.Number(after)))
		v.Notes = append(v.Notes, fmt.Sprintf("runs of less than %v are not held to the growth of their goroutines: the workers of the SKUs are still starting", leastStart))
		return
	}
	said := "they are given back"
	if after > mostGoroutines*before {
		said = "not all of them end"
	}
	v.Sentences = append(v.Sentences, fmt.Sprintf("The service had %s goroutines in the first quarter and %s in the last: %s.",
		report.Number(before), report.Number(after), said))
	v.Targets = append(v.Targets, report.AtMost("goroutines of the last quarter, in parts of the first's", compare.Ratio(after, before), mostGoroutines))
}

// rest holds the service at rest against what it was before. A run of any length is held to that.
func (v *Verdict) rest(c Course) {
	if c.Before == 0 || c.AtRest == 0 {
		if len(c.Goroutines.Values) > 0 {
			v.Notes = append(v.Notes, "the service's goroutines at rest are not known: the run was interrupted, or it does not tell them any more")
		}
		return
	}
	v.Sentences = append(v.Sentences, fmt.Sprintf("It had %s goroutines before the first request, and %s when all was done.",
		report.Number(c.Before), report.Number(c.AtRest)))
	v.Targets = append(v.Targets, report.AtMost("goroutines when all was done, in parts of those before the run", compare.Ratio(c.AtRest, c.Before), mostGoroutines))
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
