package contenders

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/report"
)

// Result is what a run measured.
type Result struct {
	Cases       []Case
	Rounds      int
	Window      time.Duration // of a round; wrk takes whole seconds
	Started     time.Time     // zero: nothing could be measured
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
}

// Case is a question, what its contenders answered, and what the audit found.
type Case struct {
	Name    string
	Entries []Entry
	Targets []report.Target
	SKUs    int      // that were audited
	Wrong   []string // what does not add up
	// Unfinished is a case that was stopped before its last round. It is held to no target.
	Unfinished bool

	http  bool
	ratio string // what ratios are to
	about string // the entrant that tells most
}

// Entry is a contender's figures: medians of its rounds.
type Entry struct {
	Case         string  `json:"case"`
	Name         string  `json:"name"`
	Ours         bool    `json:"ours"`
	Callers      int     `json:"callers,omitzero"`
	Connections  int     `json:"connections,omitzero"`
	Accepted     float64 `json:"accepted_per_second"`
	Answers      float64 `json:"answers_per_second"` // acceptances, replays and refusals
	Spread       Spread  `json:"spread"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	Ratio        float64 `json:"ratio"`
	RatioTo      string  `json:"ratio_to"`
	RatioToNoop  float64 `json:"ratio_to_noop,omitzero"`
	LeastShare   float64 `json:"least_share,omitzero"`
	crowd.Counts         // of all rounds
	Unheard      int64   `json:"unheard"`
	Rows         int64   `json:"rows"`
	Note         string  `json:"note,omitzero"` // what went wrong

	rounds []float64 // per second, what counts
	waits  []float64 // p50 of each
}

// Spread is the least and the most of the rounds, of what counts.
type Spread struct {
	Least float64 `json:"min"`
	Most  float64 `json:"max"`
}

// entries are the figures of those of a case's entrants that came to their turn. Ratios are to the entrant of that name
// with as many callers, or else to the only one of that name.
func entries(entrants []*entrant, rows map[string]int64, ratioTo string) (all []Entry) {
	for _, e := range entrants {
		if len(e.rounds) > 0 || e.failed != nil {
			all = append(all, e.entry(rows))
		}
	}
	for i := range all {
		if base := find(all, ratioTo, all[i].Callers); base != nil {
			all[i].Ratio, all[i].RatioTo = compare.PairedRatio(all[i].rounds, base.rounds), ratioTo
		}
	}
	return all
}

// entry is the figures of one.
func (e *entrant) entry(rows map[string]int64) Entry {
	out := Entry{Name: e.name, Ours: e.ours, Callers: e.callers, rounds: e.perSecond()}
	var sold, answers, p99, shares []float64
	skus := map[string]bool{}
	for _, r := range e.rounds {
		seconds := r.took.Seconds()
		sold = append(sold, float64(r.counts.Accepted)/seconds)
		answers = append(answers, float64(r.counts.Accepted+r.counts.Replayed+r.counts.Refused)/seconds)
		out.waits = append(out.waits, compare.Milliseconds(r.p50))
		p99, shares = append(p99, compare.Milliseconds(r.p99)), append(shares, r.share)
		out.Counts, out.Unheard = out.Counts.Add(r.counts), out.Unheard+r.unheard
		if !skus[r.sku] {
			skus[r.sku] = true
			out.Rows += rows[r.sku]
		}
	}
	out.Accepted, out.Answers = compare.Median(sold), compare.Median(answers)
	out.P50, out.P99, out.LeastShare = compare.Median(out.waits), compare.Median(p99), compare.Median(shares)
	if len(out.rounds) > 0 {
		out.Spread = Spread{slices.Min(out.rounds), slices.Max(out.rounds)}
	}
	if e.failed != nil {
		out.Note = e.failed.Error()
	}
	return out
}

// find returns the entry of a name and a number of callers, nil if there is none.
func find(all []Entry, name string, callers int) *Entry {
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name && e.Callers == callers })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// entry returns the entry of a name and a number of callers, an empty one if there is none.
func (c Case) entry(name string, callers int) Entry {
	if e := find(c.Entries, name, callers); e != nil {
		return *e
	}
	return Entry{}
}

// ratioOf is the ratio of two contenders with as many callers.
func (c Case) ratioOf(name, to string, callers int) float64 {
	return compare.PairedRatio(c.entry(name, callers).rounds, c.entry(to, callers).rounds)
}

// AuditOK tells whether the rows of all cases add up, and agree with what buyers were told.
func (r Result) AuditOK() bool {
	return !slices.ContainsFunc(r.Cases, func(c Case) bool { return len(c.Wrong) > 0 })
}

// Err tells in one line what must not be: rows that do not add up, and a design of ours that failed. A target that was
// missed is a result.
func (r Result) Err() error {
	var errs []error
	for _, c := range r.Cases {
		for _, wrong := range c.Wrong {
			errs = append(errs, fmt.Errorf("case %q: %s", c.Name, wrong))
		}
		for _, e := range c.Entries {
			if e.Ours && e.Note != "" {
				errs = append(errs, fmt.Errorf("case %q: %s, %d callers: %s", c.Name, e.Name, e.Callers, e.Note))
			}
		}
	}
	return errors.Join(errs...)
}
