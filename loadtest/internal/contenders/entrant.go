package contenders

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
)

// The metrics of all cases.
const (
	accepted   = "accepted per second"
	answers    = "answers per second" // acceptances, replays and refusals
	p50        = "p50 ms"
	p99        = "p99 ms"
	leastShare = "least share" // of the whole, that the process with the least got
	rows       = "rows"
	// The processor time of an order, by whose it is.
	serviceCost  = "service us"
	postgresCost = "PostgreSQL us"
	redisCost    = "Redis us"
	// counted is what ratios count: acceptances, or answers if every right one counts.
	counted = "what counts per second"
)

func metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: accepted, Exact: true},
		{Name: answers},
		{Name: p50},
		{Name: p99, Exact: true, Log: true},
		{Name: leastShare},
		{Name: serviceCost},
		{Name: postgresCost},
		{Name: redisCost},
		{Name: "accepted", Sum: true},
		{Name: "replayed", Sum: true},
		{Name: "refused", Sum: true},
		{Name: "gave up", Sum: true},
		{Name: "unheard", Sum: true},
		{Name: rows, Sum: true},
	}
}

// entrant is a contender that sells.
type entrant struct {
	name    string
	mix     string // of SKUs; "": it sells one
	ours    bool
	callers int
	units   int64 // of an order; 0: one
	// answers means that refusals and replays count, too.
	answers bool
	// measure plays a round.
	measure func(ctx context.Context) (round, error)

	skus []string // of each round
}

// round is the result of a round.
type round struct {
	sku        string // "": nothing was sold
	counts     load.Counts
	early      int64 // of those accepted, in the warm-up
	unanswered int64 // requests without an answer when the window ended
	repeated   int64 // requests with order ids that were sent before
	took       time.Duration
	p50        time.Duration
	p99        time.Duration
	spent      map[string]float64 // seconds of processors, by the metrics of what they are in microseconds an order; nil: not known
	share      float64            // of the whole, that the process with the least got; 0 where there is one process
}

// at is the name of an entrant with that many callers, or connections.
func at(name string, callers int) string { return fmt.Sprintf("%s, %d at once", name, callers) }

// title is the entrant's name as a contender.
func (e *entrant) title() string {
	if e.mix != "" {
		return at(e.name+", "+e.mix, e.callers)
	}
	return at(e.name, e.callers)
}

// contender is an entrant whose sales count as expected, also those of an interrupted round.
func (w *world) contender(e *entrant) experiment.Contender {
	levels := []string{e.name, strconv.Itoa(e.callers)}
	if e.mix != "" {
		levels = []string{e.name, e.mix, strconv.Itoa(e.callers)}
	}
	return experiment.Contender{
		Name: e.title(), Levels: levels, Ours: e.ours,
		Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			r, err := e.measure(ctx)
			if r.sku != "" {
				w.expected.Add(r.sku, max(1, e.units)*r.counts[load.Accepted], max(1, e.units)*r.unanswered)
			}
			e.skus = append(e.skus, r.sku)
			if err != nil {
				return nil, err
			}
			return r.sample(e.answers), nil
		},
	}
}

// sample are the metrics of a round.
func (r round) sample(allAnswers bool) experiment.Sample {
	seconds, sold := r.took.Seconds(), r.counts[load.Accepted]-r.early
	s := experiment.Sample{
		accepted: float64(sold) / seconds, answers: float64(sold+r.counts[load.Replayed]+r.counts[load.Refused]) / seconds,
		p50: compare.Milliseconds(r.p50), p99: compare.Milliseconds(r.p99),
		"accepted": float64(r.counts[load.Accepted]), "replayed": float64(r.counts[load.Replayed]), "refused": float64(r.counts[load.Refused]),
		"gave up": float64(r.counts[load.GaveUp]), "unheard": float64(r.unanswered),
	}
	if s[counted] = s[accepted]; allAnswers {
		s[counted] = s[answers]
	}
	if r.p99 == 0 { // no order was accepted
		delete(s, p50)
		delete(s, p99)
	}
	for name, seconds := range r.spent {
		s[name] = seconds * 1e6 / (s[counted] * r.took.Seconds())
	}
	if r.share > 0 {
		s[leastShare] = r.share
	}
	return s
}

// roundOf is a sale as a round of a contender. Waits are those of its window.
func roundOf(s load.Sale, sku string) round {
	return round{
		sku: sku, counts: s.Counts, early: s.Counts[load.Accepted] + s.Counts[load.GaveUp] - s.Waits.Count(), unanswered: s.Unanswered, took: s.Took,
		p50: s.Waits.Quantile(50), p99: s.Waits.Quantile(99),
	}
}

// caseOf is a question as a case.
func (w *world) caseOf(q question, entrants []*entrant) experiment.Case {
	who := "callers"
	if q.http {
		who = "connections"
	}
	c := experiment.Case{
		Factors: []string{"", who}, Over: true, Metrics: metrics(),
		Ratios: []experiment.Ratio{{Name: "ratio", Head: "x " + q.ratio, Metric: counted, To: func(_ experiment.Result, c experiment.Contender) string {
			return q.ratio + strings.TrimPrefix(c.Name, c.Levels[0]) // with as many callers
		}}},
		About:   func(r experiment.Result) []string { return []string{mostCallers(r, q.about)} },
		Targets: q.targets,
	}
	for _, e := range entrants {
		if e.mix != "" {
			c.Factors = []string{"", "SKUs", "callers"}
		}
		c.Contenders = append(c.Contenders, w.contender(e))
	}
	return c
}

// mostCallers is the contender of a name with the most callers.
func mostCallers(r experiment.Result, name string) (found string) {
	for _, c := range r.Case.Contenders {
		if c.Levels[0] == name {
			found = c.Name // they become more
		}
	}
	return found
}

// inParts are targets for what counts of one entrant, in parts of another one: a bound with some callers, and one with many;
// 0 is none. A # in the name stands for the number of callers.
func (s Scale) inParts(what, of, to string, bounds ...float64) (all []experiment.Target) {
	for i, bound := range bounds {
		if n := s.Callers[i]; bound > 0 {
			all = append(all, atLeast(strings.ReplaceAll(what, "#", strconv.Itoa(n)), at(of, n), at(to, n), bound))
		}
	}
	return all
}

// atLeast is a target for a ratio of what counts.
func atLeast(what, of, to string, bound float64) experiment.Target {
	return experiment.AtLeast(what, experiment.Times(counted, of, to), bound)
}
