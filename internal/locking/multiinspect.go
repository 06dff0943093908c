package locking

import (
	"context"
	"errors"
	"slices"

	"inventory/internal/locking/internal/quorum"
)

// An inspectable lock can report its holders, as all of this package can. A MultiLock passes over a part that cannot.
type inspectable interface {
	Count(ctx context.Context) int
	Inspect(ctx context.Context) (State, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

func (m *Multi) inspectables() []inspectable {
	var all []inspectable
	for _, p := range m.parts {
		if p, ok := p.(inspectable); ok {
			all = append(all, p)
		}
	}
	return all
}

// Count is how often the owner that ctx carries holds the part that it holds least often.
func (m *Multi) Count(ctx context.Context) int {
	var counts []int
	for _, p := range m.inspectables() {
		counts = append(counts, p.Count(ctx))
	}
	return quorum.Nth(counts, len(counts))
}

// Inspect reads one part after the other. An owner that holds any of them is a holder, with its smallest count and its
// shortest Remaining. There is no token. The whole's Remaining is the time until all parts would be free.
func (m *Multi) Inspect(ctx context.Context) (State, error) {
	if err := new(plan).add(m); err != nil {
		return State{}, err
	}
	var whole State
	for _, p := range m.inspectables() {
		s, err := p.Inspect(ctx)
		if err != nil {
			return State{}, err
		}
		whole.Reserved = whole.Reserved || s.Reserved
		whole.Remaining = max(whole.Remaining, s.Remaining)
		whole.Waiting = max(whole.Waiting, s.Waiting)
		for _, h := range s.Holders {
			whole.merge(h)
		}
	}
	return whole, nil
}

// merge adds a holder of another part.
func (s *State) merge(h Holder) {
	i := slices.IndexFunc(s.Holders, func(other Holder) bool { return other.Owner == h.Owner && other.Read == h.Read })
	if i < 0 {
		s.Holders = append(s.Holders, h)
		return
	}
	mine := &s.Holders[i]
	mine.Count, mine.Remaining = min(mine.Count, h.Count), min(mine.Remaining, h.Remaining)
}

// ForceUnlock frees all parts, whoever holds them, and reports whether any was held.
func (m *Multi) ForceUnlock(ctx context.Context) (bool, error) {
	if err := new(plan).add(m); err != nil {
		return false, err
	}
	freed := false
	var errs []error
	for _, p := range m.inspectables() {
		held, err := p.ForceUnlock(ctx)
		freed = freed || held
		errs = append(errs, err)
	}
	return freed, errors.Join(errs...)
}
