package classroom

import (
	"context"
	"time"
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
	s.actsMu.Lock()
	defer s.actsMu.Unlock()
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
	s.actsMu.Lock()
	defer s.actsMu.Unlock()
	a.After, a.Audit, a.Measuring = after, verdict, false
}

// audit recomputes the balance of a SKU from the rows, also while something is broken.
func (s *School) audit(ctx context.Context, sku string) string {
	audit, err := s.store.Audit(ctx, sku)
	switch {
	case err != nil:
		return ""
	case audit.OK():
		return "ok"
	default:
		return "wrong"
	}
}

// actsNow returns copies of the acts, the newest first.
func (s *School) actsNow() []act {
	s.actsMu.Lock()
	defer s.actsMu.Unlock()
	all := make([]act, len(s.acts))
	for i, a := range s.acts {
		all[i] = *a
	}
	return all
}
