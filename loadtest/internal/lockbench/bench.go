package lockbench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long.
type Config struct {
	servers.URLs
	Scale Scale
	Cases []string // names; none: all
	// Worker is the command line of a process that does Work.
	Worker []string
	// Progress is told of each case as it begins.
	Progress func(name string)
}

// Scale is how much time a measurement takes.
type Scale struct {
	Rounds     int
	Window     time.Duration // of one contender in one round, where it is measured for a time
	Crowd      int           // goroutines of one process that meet at one lock
	Slices     int           // into which the window of one caller is cut
	Visits     int           // of each of the separate clients
	Holds      int           // that are kept
	Lease      time.Duration // of those
	Names      int           // that are contended for at once
	NameVisits int           // of each client at each of those
	Few        bool          // leave out of crowds who is there for the sake of completeness
}

// Full is the scale of figures to be told.
func Full() Scale {
	return Scale{
		Rounds: 5, Window: 2 * time.Second, Crowd: 64, Slices: 20, Visits: 10, Holds: 10_000, Lease: 9 * time.Second, Names: 1000, NameVisits: 3,
	}
}

// Quick is that of a first look, with fewer contenders.
func Quick() Scale {
	s := Full()
	s.Rounds, s.Window, s.Slices, s.Visits, s.Lease = 1, 300*time.Millisecond, 10, 6, 4500*time.Millisecond
	s.NameVisits, s.Few = 1, true
	return s
}

// Tiny is that of a test, which only wants to know that all of it works.
func Tiny() Scale {
	return Scale{
		Rounds: 1, Window: 100 * time.Millisecond, Crowd: 8, Slices: 2, Visits: 1, Holds: 300, Lease: 600 * time.Millisecond, Names: 20, NameVisits: 1, Few: true,
	}
}

// question is a case.
type question struct {
	name    string
	ask     func(ctx context.Context, b *bench) ([]Contender, error)
	targets func(c Case) []report.Target
}

// questions are all cases, in the order in which they are told.
func questions() []question {
	return []question{
		{"one caller", oneCaller, oneCallerTargets},
		{"64 goroutines", manyGoroutines, manyGoroutinesTargets},
		{"16 clients", separateClients, separateClientsTargets},
		{"3 processes", severalProcesses, severalProcessesTargets},
		{"lone caller", loneCaller, loneCallerTargets},
		{"readers", manyReaders, manyReadersTargets},
		{"10,000 holds", manyHolds, manyHoldsTargets},
		{"1,000 names", manyNames, manyNamesTargets},
	}
}

// Names are those of all cases.
func Names() (names []string) {
	for _, q := range questions() {
		names = append(names, q.name)
	}
	return names
}

// bench is a run.
type bench struct {
	servers servers.URLs
	scale   Scale
	worker  []string
	run     string // begins the names of this run's locks
}

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	chosen, err := choose(c.Cases)
	if err != nil {
		return Result{}, err
	}
	on, err := servers.Open(ctx, c.URLs)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Stop()) }()
	leftOut, err := on.AddForLocks(ctx)
	if err != nil {
		return Result{}, err
	}
	environment, err := on.Environment(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := on.MakeDatabase(ctx, "locks_"); err != nil { // for those that are rows
		return Result{}, err
	}
	environment.Target, environment.Generator = on.Name, "callers inside this program and processes of its own"
	environment.Measurement = append(environment.Measurement, c.Scale.measurement())
	result = Result{Started: time.Now(), Environment: environment, LeftOut: leftOut}
	defer func() { result.Elapsed = time.Since(result.Started) }()
	b := &bench{servers: on.URLs, scale: c.Scale, worker: c.Worker, run: "bench-" + rand.Text()[:8] + "-"}
	for _, q := range chosen {
		c.Progress(q.name)
		if err := result.ask(ctx, b, q); err != nil {
			return result, err
		}
	}
	return result, nil
}

// ask adds a case.
func (r *Result) ask(ctx context.Context, b *bench, q question) error {
	contenders, err := q.ask(ctx, b)
	r.Interrupted = ctx.Err() != nil
	if len(contenders) > 0 {
		r.Cases = append(r.Cases, Case{Name: q.name, Contenders: contenders, Unfinished: r.Interrupted || err != nil})
	}
	switch {
	case r.Interrupted: // which says why, where err is what came of it
		return fmt.Errorf("the comparison was stopped: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("case %q: %w", q.name, err)
	}
	return nil
}

// Check tells whether there are cases of these names.
func Check(names []string) error {
	_, err := choose(names)
	return err
}

// choose returns the cases of these names.
func choose(names []string) ([]question, error) {
	all := questions()
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no case %q; there are %q", name, Names())
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(q question) bool { return !slices.Contains(names, q.name) }), nil
}

// series collects the rounds of contenders.
type series struct {
	names  []string // in the order of their first round
	ours   map[string]bool
	rounds map[string][]Figures
	notes  map[string]string
}

func newSeries() *series {
	return &series{ours: map[string]bool{}, rounds: map[string][]Figures{}, notes: map[string]string{}}
}

// announce fixes the order in which contenders are told.
func (s *series) announce(name string, ours bool) {
	s.names = append(s.names, name)
	s.ours[name] = ours
}

func (s *series) add(name string, round Figures, note string) {
	s.rounds[name] = append(s.rounds[name], round)
	if note != "" {
		s.notes[name] = note
	}
}

// contenders are those that came to their turn.
func (s *series) contenders() (out []Contender) {
	for _, name := range s.names {
		if len(s.rounds[name]) == 0 {
			continue
		}
		out = append(out, Contender{Name: name, Ours: s.ours[name], Figures: overall(s.rounds[name]), Note: s.notes[name]})
	}
	return out
}

// entrant is a contender that is measured once in each round.
type entrant struct {
	name    string
	ours    bool
	measure func(ctx context.Context, round int) (f Figures, note string)
}

// rounds lets entrants take turns.
func (b *bench) rounds(ctx context.Context, entrants []entrant) []Contender {
	s := newSeries()
	for _, e := range entrants {
		s.announce(e.name, e.ours)
	}
	for round := range b.scale.Rounds {
		for _, e := range compare.InTurn(entrants, round) {
			f, note := e.measure(ctx, round)
			if ctx.Err() != nil {
				return s.contenders() // a round that was cut short tells nothing
			}
			s.add(e.name, f, note)
		}
	}
	return s.contenders()
}

// crowd is callers at one lock.
type crowd struct {
	name    string // of the lock
	callers int
	load    load
	also    func(t *tally, f Figures) // adds figures; nil: none
}

// entrantsOf makes entrants of fleets that a crowd uses. They are warm then.
func (b *bench) entrantsOf(ctx context.Context, fleets []*fleet, c crowd) (entrants []entrant) {
	for _, f := range fleets {
		warmUp(ctx, f, b.run+c.name+"-warm", c.callers)
		entrants = append(entrants, entrant{f.name, f.ours, func(ctx context.Context, round int) (Figures, string) {
			before := f.commands()
			t := drive(ctx, c.load, f.handles(fmt.Sprintf("%s%s-%d", b.run, c.name, round), c.callers))
			figures := t.figures(f.commands() - before)
			if c.also != nil {
				c.also(t, figures)
			}
			return figures, t.note
		}})
	}
	return entrants
}

// warmUp lets callers meet at a lock, so that scripts and subscriptions are there when the clock starts.
func warmUp(ctx context.Context, f *fleet, name string, callers int) {
	drive(ctx, load{times: 1, hold: time.Millisecond}, f.handles(name, callers))
}
