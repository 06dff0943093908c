package classroom

import (
	"context"
	"time"

	"inventory/internal/app"
)

// act is an action during a sale, with its effect on the speed, and whether the audit holds.
type act struct {
	ID        int       `json:"id"`
	At        time.Time `json:"at"`
	What      string    `json:"what"`
	Why       string    `json:"why"`
	Before    *pace     `json:"before"` // null: no sale ran
	After     *pace     `json:"after"`  // null: not measured yet, or the sale ended before
	Audit     string    `json:"audit"`  // "", "ok" or "wrong"
	Measuring bool      `json:"measuring"`
}

// pace is the speed of a sale.
type pace struct {
	Accepted float64 `json:"accepted"` // orders a second
	P99      float64 `json:"p99"`      // milliseconds, of the worst second
}

// paceOf returns the speed of some seconds; nil if there are none.
func paceOf(points []point) *pace {
	if len(points) == 0 {
		return nil
	}
	var p pace
	for _, one := range points {
		p.Accepted += float64(one.Accepted) / float64(len(points))
		p.P99 = max(p.P99, one.P99)
	}
	return &p
}

const (
	beforeSeconds = 3
	settleSeconds = 1 // between an act and what is measured of its effect
	afterSeconds  = 4
	mostActs      = 20
)

// paceNow returns the speed of the sale that runs; nil if none does. The caller holds mu.
func (s *School) paceNow() *pace {
	if !s.open {
		return nil
	}
	return paceOf(s.sale.last(beforeSeconds))
}

// note records an act, and measures its effect for a few seconds if a sale runs. The caller holds mu.
func (s *School) note(what, why string, before *pace) {
	s.acted++
	a := &act{ID: s.acted, At: time.Now().UTC(), What: what, Why: why, Before: before, Measuring: s.open}
	s.acts = append([]*act{a}, s.acts[:min(len(s.acts), mostActs-1)]...)
	if current := s.sale; s.open {
		s.running.Go(func() { s.measure(a, current) })
	}
}

// measure completes an act.
func (s *School) measure(a *act, of *sale) {
	select {
	case <-s.ctx.Done():
		return
	case <-time.After((settleSeconds+afterSeconds)*time.Second + time.Second/2):
	}
	var after *pace
	s.mu.RLock()
	if s.open && s.sale == of {
		after = paceOf(of.last(afterSeconds))
	}
	s.mu.RUnlock()
	verdict := s.audit(s.ctx, of.SKU)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.After, a.Audit, a.Measuring = after, verdict, false
}

// audit recomputes the balance of a SKU from the rows, also while something is broken.
func (s *School) audit(ctx context.Context, sku string) string {
	audit, err := s.store.Audit(ctx, sku, nil)
	switch {
	case err != nil:
		return ""
	case audit.OK():
		return "ok"
	default:
		return "wrong"
	}
}

// breaking is a fault that a person can cause: its start and its end, and why the sale goes on as it does.
type breaking struct {
	Name    string `json:"name"`
	Break   string `json:"break"` // the label of the button
	Mend    string `json:"mend"`  // "": it ends by itself
	Each    bool   `json:"each"`  // it affects one process
	Why     string `json:"why"`
	Alone   string `json:"-"` // why, if there is one process
	WhyMend string `json:"-"`
	do      func(h *School, process int, broken bool) error
}

// breaks returns the table of the faults.
func breaks() []breaking {
	return []breaking{
		{
			Name: "redis", Break: "Stop Redis", Mend: "Start Redis",
			Why: "Locks only save waiting: after three failures in a row workers do without them, and only the rows of the database decide. " +
				"A RedLock does not even notice, because two of its three servers answer.",
			WhyMend: "A probe in the background notices within a second that locks work, and workers take them again.",
			do:      func(s *School, _ int, broken bool) error { s.network.stop(broken); return nil },
		},
		{
			Name: "empty", Break: "Empty Redis",
			Why: "All locks are gone at once, so two processes may think that they hold a segment: " +
				"the fencing token in the segment's row lets only the newer one write.",
			Alone: "All locks are gone at once. The process takes them again, and nobody else was there to take them in between.",
			do:    func(s *School, _ int, _ bool) error { s.network.empty(); return nil },
		},
		{
			Name: "stall", Break: "Stop process", Mend: "Wake process", Each: true,
			Why: "A stopped process keeps its segment until the lease ends, 5 s at most, while others sell the other segments; " +
				"its buyers give up after 2 s and send the same order ids to another process, so nothing is sold twice.",
			Alone: "Nobody is left to sell: every order fails after the 2 s that its buyer waits. " +
				"Two processes or more would go on without the one that is stopped.",
			WhyMend: "The writes of the process are now late: its token is old and its deadlines are over, so none of them counts.",
			do: func(s *School, process int, broken bool) error {
				gate := s.house.processes[process].gate
				if broken {
					gate.shut()
				}
				s.network.hold(process, broken)
				if !broken {
					gate.reopen()
				}
				return nil
			},
		},
		{
			Name: "cut", Break: "Cut off process", Mend: "Connect process", Each: true,
			Why: "A process that cannot reach Redis goes on without locks and meets the others at the rows, " +
				"where the database lets one after the other write.",
			Alone:   "A process that cannot reach Redis goes on without locks. It is alone at its rows, and misses none.",
			WhyMend: "The process takes locks again, and goes to segments that nobody holds.",
			do:      func(s *School, process int, broken bool) error { s.network.cut(process, broken); return nil },
		},
		{
			Name: "locks", Break: "Switch locks off", Mend: "Switch locks on",
			Why: "Without locks all processes write to whichever rows they like and wait for each other there; " +
				"the guard of the database keeps every unit right.",
			Alone:   "One process writes alone: without locks it has less to do, and the guard of the database keeps every unit right.",
			WhyMend: "With locks each process keeps to segments that no other one writes to.",
			do: func(s *School, _ int, broken bool) error {
				p := s.house.plan
				p.Lock = s.locked
				if broken {
					p.Lock = app.LockNone
				}
				return s.rebuild(p)
			},
		},
	}
}

// state is what the page shows.
type state struct {
	plan
	Runs     string         `json:"runs"` // the plan in words
	LocksOff bool           `json:"locks_off"`
	Redis    bool           `json:"redis"` // it runs
	Services []serviceState `json:"services"`
	Sale     *saleState     `json:"sale"` // null: there was none
	Acts     []act          `json:"acts"`
	Breaks   []breaking     `json:"breaks"`
}

type serviceState struct {
	Stalled bool `json:"stalled"`
	Cut     bool `json:"cut"`
}

type saleState struct {
	order
	SKU     string  `json:"sku"`
	Running bool    `json:"running"`
	Points  []point `json:"points"`
}

func (s *School) state() state {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := state{
		plan: s.house.plan, Runs: s.house.plan.String(), LocksOff: s.house.Lock == app.LockNone, Redis: !s.network.isDown(), Acts: []act{}, Breaks: breaks(),
	}
	for _, a := range s.acts {
		now.Acts = append(now.Acts, *a)
	}
	for number, p := range s.house.processes {
		now.Services = append(now.Services, serviceState{p.gate.isShut(), s.network.isCut(number)})
	}
	if s.sale != nil {
		now.Sale = &saleState{s.sale.order, s.sale.SKU, s.open, s.sale.last(kept)}
	}
	return now
}
