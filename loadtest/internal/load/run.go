// Package load sends operations to services, and keeps their results in the form that package history compares with the
// rows.
//
// [NewRequest] makes an operation a request over HTTP, and [Services.Send] sends one to a process once. There are two ways to send:
//
//   - In a closed loop callers wait for an answer before they ask again. [Services.Ask] asks one process after the other until
//     the answer is final; [Buy] has callers buy from any [Seller] until a window is over.
//   - In an open loop requests are sent at planned times by [Services.Run]. [Times] plans them, as a pure function of a seed. Latency counts from the planned time. docs/LAB.md says why, and what the lag is.
//
// Either way the [Result] has each operation with its attempts ([Closed] makes that of a closed loop).
// A [Drill] is a run from its first request to its report.
package load

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"
	"gonum.org/v1/gonum/stat"

	"inventory/internal/api/client"
	"inventory/internal/latency"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Phase is a time in which requests are due at a rate.
type Phase struct {
	Name   string
	Rate   float64 // requests a second
	Length time.Duration
}

// Spacing is how the requests of a rate lie in time.
type Spacing string

// The spacings.
const (
	Poisson Spacing = "poisson" // independent of one another
	Even    Spacing = "even"
)

// Times returns when each request is due, since the beginning, in order. It is a pure function of its arguments.
//
// Requests come at a rate of one in units of time of which a phase has as many as it expects requests. Steps are equal or
// exponentially distributed, and what is left of one is taken over into the next phase.
func Times(seed uint64, spacing Spacing, phases []Phase) []time.Duration {
	step, next := func() float64 { return 1 }, 0.5
	if spacing == Poisson {
		step = NewRandom(seed, "arrivals").ExpFloat64
		next = step()
	}
	at := make([]time.Duration, 0, int(Expected(phases))+1)
	var began time.Duration
	var before float64 // units of the phases before
	for _, p := range phases {
		units := p.expected()
		for ; next < before+units; next += step() {
			at = append(at, began+min(time.Duration((next-before)/p.Rate*float64(time.Second)), p.Length-1))
		}
		began += p.Length
		before += units
	}
	return at
}

// expected is how many requests a phase has in the mean.
func (p Phase) expected() float64 { return p.Rate * p.Length.Seconds() }

// Expected is how many requests the phases have in the mean.
func Expected(phases []Phase) (n float64) {
	for _, p := range phases {
		n += p.expected()
	}
	return n
}

// Length is that of all phases.
func Length(phases []Phase) (all time.Duration) {
	for _, p := range phases {
		all += p.Length
	}
	return all
}

// NewRandom is a source for one purpose, which is independent of how much is drawn for others.
func NewRandom(seed uint64, purpose string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64([]byte(purpose), seed))))
}

// NewID is a random id, as buyers make them: ids in sequence would be neighbours in an index.
func NewID(random *rand.Rand) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // of RFC 9562
	return id.String()
}

// Load is what is sent in an open loop, and when.
type Load struct {
	Start      time.Time           // the zero of At; may lie ahead
	At         []time.Duration     // when each request is due, in order; see Times
	Operations []history.Operation // that many; those of one id are retries. Run records their attempts
}

// Reply is what became of a request. Its times are since the start of the load.
type Reply struct {
	Sent    time.Duration // 0: it was not
	Over    time.Duration // when the answer was there, or the request was given up
	Outcome Outcome
	Queued  bool // no connection was free when its time came
}

// Result is what became of a load.
type Result struct {
	Load
	Replies []Reply
	Elapsed time.Duration // to the last answer
}

// Run sends a load and waits until every request is over. When ctx ends nothing more is sent, and what is under way is
// waited for, no longer than Config.Patience.
func (s *Services) Run(ctx context.Context, l Load) *Result {
	r := &Result{Load: l, Replies: make([]Reply, len(l.At))}
	var next atomic.Int64 // request
	var all sync.WaitGroup
	for connection := range s.Connections {
		all.Go(func() { s.serve(ctx, r, &next, connection%len(s.URLs)) })
	}
	all.Wait()
	r.Elapsed = r.since()
	return r
}

func (r *Result) since() time.Duration { return time.Since(r.Start) }

// serve takes one request after the other, waits for its time, and sends it to a process. Each reply is written by who took the
// request.
func (s *Services) serve(ctx context.Context, r *Result, next *atomic.Int64, process int) {
	for ctx.Err() == nil {
		i := int(next.Add(1)) - 1
		if i >= len(r.At) {
			return
		}
		ahead := r.At[i] - r.since()
		if ahead > 0 && !Sleep(ctx, ahead) {
			return
		}
		r.Replies[i] = s.send(r, process, i)
		r.Replies[i].Queued = ahead < 0
	}
}

// send sends a request whose time has come.
func (s *Services) send(r *Result, process, i int) Reply {
	now := r.since()
	if now-r.At[i] > s.MaxLag {
		return Reply{Over: now, Outcome: Dropped}
	}
	o := &r.Operations[i]
	o.Attempts = append(o.Attempts, s.try(process, NewRequest(o), true))
	return replyOf(*o, r.Start)
}

// replyOf is what became of an operation that was tried.
func replyOf(o history.Operation, start time.Time) Reply {
	first, last := o.Attempts[0], o.Last()
	reply := Reply{Sent: max(first.Sent.Sub(start), 1), Over: last.Ended.Sub(start), Outcome: OutcomeOf(last)}
	if last.NotSent {
		reply.Sent = 0
	}
	return reply
}

// Closed is what became of operations in a closed loop, where each is due when it is sent first.
func Closed(start time.Time, operations []history.Operation) *Result {
	r := &Result{Load: Load{Start: start, At: make([]time.Duration, len(operations)), Operations: operations}, Replies: make([]Reply, len(operations))}
	for i, o := range operations {
		if len(o.Attempts) > 0 {
			r.At[i], r.Replies[i] = o.Attempts[0].Sent.Sub(start), replyOf(o, start)
			r.Elapsed = max(r.Elapsed, r.Replies[i].Over)
		}
	}
	return r
}

// together is the result of all parts of a run, whose times are those since the beginning of each.
func together(parts []*Result) *Result {
	if len(parts) == 1 {
		return parts[0]
	}
	all := &Result{}
	for _, p := range parts {
		all.At, all.Operations = append(all.At, p.At...), append(all.Operations, p.Operations...)
		all.Replies = append(all.Replies, p.Replies...)
	}
	return all
}

// FirstError is that of the first request that came to one of some outcomes; nil: none did.
func (r *Result) FirstError(of ...Outcome) error {
	for i, reply := range r.Replies {
		if slices.Contains(of, reply.Outcome) {
			return whyNot(r.Operations[i].Last())
		}
	}
	return nil
}

// Latency is how long a request took from its planned time; without an answer, until it was given up.
func (r *Result) Latency(i int) time.Duration { return r.Replies[i].Over - r.At[i] }

// Forever is later than all that is due.
const Forever = time.Duration(math.MaxInt64)

// due are the requests that were due between two times, the latter excluded.
func (r *Result) due(from, to time.Duration) iter.Seq2[int, Reply] {
	return func(yield func(int, Reply) bool) {
		for i, at := range r.At {
			if at >= from && at < to && !yield(i, r.Replies[i]) {
				return
			}
		}
	}
}

// Latencies are those of the requests that were due between two times, from then on, and came to some outcomes; without any named,
// of all requests, also those without an answer.
func (r *Result) Latencies(from, to time.Duration, some ...Outcome) *latency.Histogram {
	h := latency.New()
	for i, reply := range r.due(from, to) {
		if slices.Contains(some, reply.Outcome) || len(some) == 0 && reply.Outcome != NotSent {
			h.Record(r.Latency(i))
		}
	}
	return h
}

// Lags are how long after their planned times requests were sent, of all that were due between two times, and of those for which a
// connection was free in time.
func (r *Result) Lags(from, to time.Duration) (all, own *latency.Histogram) {
	all, own = latency.New(), latency.New()
	for i, reply := range r.due(from, to) {
		if reply.Sent == 0 {
			continue
		}
		all.Record(reply.Sent - r.At[i])
		if !reply.Queued {
			own.Record(reply.Sent - r.At[i])
		}
	}
	return all, own
}

// Counts counts the requests that were due between two times.
func (r *Result) Counts(from, to time.Duration) (c Counts) {
	for _, reply := range r.due(from, to) {
		c[reply.Outcome]++
	}
	return c
}

// Slot is a short time of a run.
type Slot struct {
	From    time.Duration
	Offered int64  // requests that were due in it
	Answers Counts // answers that came in it, and requests that were given up in it
	// P50 and P99 are of the latencies of all requests that were due in it, in milliseconds; no number where there is none.
	P50, P99 float64
}

// Width returns how long slots should be: 100 ms, or more where that would make more than 200 of them.
func Width(all time.Duration) time.Duration {
	const least, most = 100 * time.Millisecond, 200
	return max(least, (all / most).Round(least))
}

// Slots cuts the run into slots, as far as it went.
func (r *Result) Slots(width time.Duration) []Slot {
	slots := make([]Slot, max(r.Elapsed, 0)/width+1)
	waits := make([][]float64, len(slots))
	for i, reply := range r.Replies {
		due := int(r.At[i] / width)
		if due < len(slots) {
			slots[due].Offered++
		}
		if reply.Outcome == NotSent {
			continue
		}
		slots[reply.Over/width].Answers[reply.Outcome]++
		waits[due] = append(waits[due], report.Milliseconds(r.Latency(i)))
	}
	for n := range slots {
		slices.Sort(waits[n])
		s := &slots[n]
		s.From = time.Duration(n) * width
		if s.P50, s.P99 = math.NaN(), math.NaN(); len(waits[n]) > 0 {
			s.P50, s.P99 = stat.Quantile(0.5, stat.Empirical, waits[n], nil), stat.Quantile(0.99, stat.Empirical, waits[n], nil)
		}
	}
	return slots
}

// OutcomeSection is a row for each outcome, and one for all.
func (r *Result) OutcomeSection() report.Section {
	table := &report.Table{Columns: []string{"outcome", "requests", "share, %", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "max ms"}}
	counts := r.Counts(0, Forever)
	all := counts.Of(Outcomes()...)
	add := func(name string, n int64, waits *latency.Histogram) {
		figures := []float64{float64(n), report.Ratio(100*float64(n), float64(all))}
		for _, percent := range []float64{50, 90, 99, 99.9, 99.99, 100} {
			figures = append(figures, report.Quantile(waits, percent))
		}
		table.Add(name, figures...)
	}
	for _, o := range Outcomes() {
		if counts[o] > 0 {
			add(o.String(), counts[o], r.Latencies(0, Forever, o))
		}
	}
	add("all who were due", all, r.Latencies(0, Forever))
	notes, codes := []string{"who got no answer counts with the time until that was clear: they have waited at least so long"}, map[client.Code]int64{}
	for i, reply := range r.Replies {
		if reply.Outcome == Refused || reply.Outcome == Failed {
			codes[r.Operations[i].Last().Answer.Code]++
		}
	}
	delete(codes, "")
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		notes = append(notes, fmt.Sprintf("%s of those that failed or were refused otherwise were %s", humanize.Comma(codes[code]), code))
	}
	return report.Section{Name: "What buyers were answered", Table: table, Notes: notes}
}

// OverTime draws what was offered and answered, and how long it took.
func (r *Result) OverTime(marks []report.Mark) []report.Plot {
	width := Width(r.Elapsed)
	slots := r.Slots(width)
	line := func(name string, of func(Slot) float64) report.Series {
		line := report.Series{Name: name}
		for _, s := range slots { // a point in the middle of each
			line.X, line.Y = append(line.X, (s.From+width/2).Seconds()), append(line.Y, of(s))
		}
		return line
	}
	throughput := []report.Series{line("offered", func(s Slot) float64 { return float64(s.Offered) / width.Seconds() })}
	for _, o := range Outcomes() {
		if r.Counts(0, Forever)[o] > 0 {
			throughput = append(throughput, line(o.String(), func(s Slot) float64 { return float64(s.Answers[o]) / width.Seconds() }))
		}
	}
	x := report.Axis{Label: "seconds since the first request could come"}
	return []report.Plot{
		{
			Name: "throughput", Title: "Requests and answers over time", Kind: report.Lines, X: x, Y: report.Axis{Label: "requests a second"},
			Marks: marks, Series: throughput,
		},
		{
			Name: "latency-over-time", Title: "Latency over time, by the planned send", Kind: report.Lines, X: x, Y: report.Axis{Label: "ms", Log: true},
			Marks: marks, Series: []report.Series{
				line("p50", func(s Slot) float64 { return s.P50 }), line("p99", func(s Slot) float64 { return s.P99 }),
			},
		},
	}
}

// Above these the generator did not keep up.
const (
	mostLag    = 50. // ms, p99 of all that was sent
	mostOwnLag = 10. // ms, p99 of what a free connection waited for
)

// Warnings say why figures may not be what they seem. Each begins with name.
func (r *Result) Warnings(name string) (lines []string) {
	lags, ownLags := r.Lags(0, Forever)
	all, own := report.Quantile(lags, 99), report.Quantile(ownLags, 99)
	if own > mostOwnLag {
		lines = append(lines, fmt.Sprintf("%sthe generator did not keep up: 1%% of its sends were %s ms late or more although a connection was free; "+
			"latencies have that in them, and it is not the service's", name, report.Number(own)))
	}
	if all > mostLag {
		lines = append(lines, fmt.Sprintf("%s1%% of the sends were %s ms late or more, because all connections were busy; latencies have that in them; "+
			"more connections raise how much can be under way", name, report.Number(all)))
	}
	counts := r.Counts(0, Forever)
	if dropped := counts[Dropped]; dropped > 0 {
		lines = append(lines, fmt.Sprintf("%s%s requests were dropped: no connection was free within %v of their time, so less was sent than planned",
			name, humanize.Comma(dropped), DefaultMaxLag))
	}
	if overloaded := counts[Overloaded]; overloaded > 0 {
		lines = append(lines, fmt.Sprintf("%s%s requests were refused as overloaded: the rate is more than the service can do", name, humanize.Comma(overloaded)))
	}
	return lines
}

// Drill is a run of a scenario: what was sent, what became of it, and what the rows say.
type Drill struct {
	report.Document
	Name        string // in a sentence
	Prefix      string // of the names of its SKUs; "": the scenario audits by itself
	Services    *Services
	DatabaseURL string
	Promise     history.Promise // of the SKUs that were put up for sale
	Bad         []Outcome       // that no request may come to
	Parts       []*Result       // what was sent; nil: there is nothing to report
	All         *Result         // of all parts
	Rows        history.Rows
	Found       history.Findings
}

// At chooses the target of a drill, and opens connections to it, which Play closes. Services that the lab has not started may have
// another clock.
func (d *Drill) At(ctx context.Context, to *target.Target, key string, connections int, generator string, measurement ...string) (err error) {
	d.DatabaseURL = to.DatabaseURL
	d.Promise = history.Promise{
		Stocks: make(map[string]history.Stock), AnswerWithin: target.AnswerWithin, Staleness: time.Second, Sweep: 10 * time.Second,
	}
	if !to.Started() {
		d.Promise.Clocks = time.Hour
	}
	if d.Environment, err = to.Environment(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	d.Environment.Add("requests sent by", "this program, "+generator)
	for _, line := range measurement {
		d.Environment.Add("measurement", line)
	}
	d.Services, err = Open(Config{URLs: to.URLs, Key: key, Connections: connections, Promise: d.Promise})
	return err
}

// Play plays, and holds the answers against the rows. It returns what ended it early, such as the end of ctx; what was sent until
// then is audited, too.
func (d *Drill) Play(ctx context.Context, play func(context.Context) error) error {
	defer d.Services.Close()
	stopped := d.Run(ctx, d.Name, play)
	d.Interrupted, d.All = stopped != nil, together(d.Parts)
	if d.Prefix != "" && d.Parts != nil {
		d.Judge(history.Audit(ctx, d.DatabaseURL, d.Prefix, d.All.Operations, d.Promise))
	}
	return stopped
}

// Judge takes the rows, and what was found when the answers were held against them. Requests that came to a bad outcome are wrong,
// too.
func (d *Drill) Judge(rows history.Rows, found history.Findings) {
	d.Rows, d.Found, d.Wrong = rows, found, history.Describe(found.Violations)
	if failed := d.All.Counts(0, Forever).Of(d.Bad...); failed > 0 {
		d.Wrong = append(d.Wrong, fmt.Sprintf("%s failed or got no answer, first: %v", report.Count(failed, "request"), d.All.FirstError(d.Bad...)))
	}
}
