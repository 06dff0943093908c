package classroom

import (
	"context"
	"time"
)

// act is an action during a sale, with its effect on the speed, and whether the audit holds.
type act struct {
	ID     int       `json:"id"`
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Why    string    `json:"why"`
	Before pace      `json:"before"`
	After  *pace     `json:"after"` // null: not measured yet
	Audit  string    `json:"audit"` // "", "ok" or "wrong"
}

// pace is the speed of a sale.
type pace struct {
	Accepted float64 `json:"accepted"` // orders a second
	P99      float64 `json:"p99"`      // milliseconds, of the worst second
}

func paceOf(points []point) (p pace) {
	for _, one := range points {
		p.Accepted += float64(one.Accepted) / float64(len(points))
		p.P99 = max(p.P99, one.P99)
	}
	return p
}

const (
	beforeSeconds = 3
	afterSeconds  = 4
	mostActs      = 20
)

// note records an act, and measures its effect for a few seconds.
func (s *School) note(what, why string) {
	s.actsMu.Lock()
	defer s.actsMu.Unlock()
	s.acted++
	a := &act{ID: s.acted, At: time.Now().UTC(), What: what, Why: why}
	current := s.sale
	if current != nil {
		a.Before = paceOf(current.last(beforeSeconds))
	}
	s.acts = append([]*act{a}, s.acts[:min(len(s.acts), mostActs-1)]...)
	if current == nil {
		return
	}
	s.running.Go(func() { s.measure(a, current) })
}

// measure completes an act.
func (s *School) measure(a *act, of *sale) {
	select {
	case <-s.ctx.Done():
		return
	case <-time.After(afterSeconds*time.Second + time.Second/2):
	}
	after := paceOf(of.last(afterSeconds))
	verdict := s.audit(s.ctx, of.SKU)
	s.actsMu.Lock()
	defer s.actsMu.Unlock()
	a.After, a.Audit = &after, verdict
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
