package locking

import (
	"iter"
	"maps"
	"slices"
)

// fewTenants is up to how many a list is faster than a map.
const fewTenants = 8

// tenants are those of one book. Most have one; a lock with many readers in one process has thousands.
type tenants struct {
	few  []*tenant          // all, up to fewTenants of them
	many map[*owner]*tenant // all, once there were more

	first [1]*tenant // where few begins
}

func (ts *tenants) len() int { return max(len(ts.few), len(ts.many)) }

// of returns the tenant of an owner, or nil.
func (ts *tenants) of(who *owner) *tenant {
	if ts.many != nil {
		return ts.many[who]
	}
	for _, t := range ts.few {
		if t.who == who {
			return t
		}
	}
	return nil
}

func (ts *tenants) add(t *tenant) {
	switch {
	case ts.many != nil:
		ts.many[t.who] = t
	case len(ts.few) < fewTenants:
		if ts.few == nil {
			ts.few = ts.first[:0]
		}
		ts.few = append(ts.few, t)
	default:
		ts.many = map[*owner]*tenant{t.who: t}
		for _, other := range ts.few {
			ts.many[other.who] = other
		}
		ts.few = nil
	}
}

// remove takes a tenant out if it is there.
func (ts *tenants) remove(t *tenant) {
	if ts.many[t.who] == t {
		delete(ts.many, t.who)
	}
	if i := slices.Index(ts.few, t); i >= 0 {
		ts.few = slices.Delete(ts.few, i, i+1)
	}
}

func (ts *tenants) all() iter.Seq[*tenant] {
	if ts.many != nil {
		return maps.Values(ts.many)
	}
	return slices.Values(ts.few)
}
