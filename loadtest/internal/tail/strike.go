package tail

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Strike is how a process was killed.
type Strike struct {
	At        float64 `json:"at_seconds"` // since the first buyer
	Held      bool    `json:"held"`       // when it was gone, it still had the lock of a segment
	Segment   int     `json:"segment"`    // whose; -1: of none
	LeaseLeft float64 `json:"lease_left_seconds"`
	Tries     int     `json:"tries"` // how often it was stopped until the lock was still its own
}

// kill kills a process at a moment when it holds the lock of a segment: see the package's comment. Without locks it kills it
// as it is. began is when the first buyer was due.
func (w *witness) kill(ctx context.Context, sku string, segments int, victim *process, began time.Time) (Strike, error) {
	s := Strike{Segment: -1}
	if !w.idle() {
		if err := w.corner(ctx, sku, segments, victim, &s); err != nil {
			return s, err
		}
	}
	s.At = time.Since(began).Seconds()
	if err := victim.kill(); err != nil {
		return s, err
	}
	if w.idle() {
		return s, nil
	}
	name, state, err := w.look(ctx, sku, s.Segment)
	if err != nil {
		return s, fmt.Errorf("ask whose lock it is: %w", err)
	}
	s.Held, s.LeaseLeft = victim.names[name], state.Remaining.Seconds()
	return s, nil
}

// corner waits until the victim has a lock, and stops it with the lock in hand.
func (w *witness) corner(ctx context.Context, sku string, segments int, victim *process, s *Strike) error {
	for s.Tries = 1; ; s.Tries++ {
		segment, err := w.await(ctx, sku, segments, victim)
		if err != nil {
			return err
		}
		if err := victim.Stop(); err != nil {
			return fmt.Errorf("stop a process: %w", err)
		}
		// What it sent before it stood still may be under way: the second answer is younger than that.
		held := true
		for range 2 {
			name, _, lookErr := w.look(ctx, sku, segment)
			held, err = held && victim.names[name], errors.Join(err, lookErr)
		}
		if held && err == nil {
			s.Segment = segment
			return nil
		}
		if err := errors.Join(err, victim.Continue()); err != nil {
			return fmt.Errorf("let a process go on: %w", err)
		}
	}
}

// await returns a segment whose lock a process has.
func (w *witness) await(ctx context.Context, sku string, segments int, p *process) (segment int, err error) {
	for {
		held, err := w.holdings(ctx, sku, segments)
		if err != nil {
			return 0, fmt.Errorf("wait until a process holds a lock: %w", err)
		}
		for segment, name := range held {
			if p.names[name] {
				return segment, nil
			}
		}
	}
}
