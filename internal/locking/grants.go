package locking

import (
	"iter"
	"maps"
	"slices"
)

// fewGrants is up to how many grants a list is faster than a map.
const fewGrants = 8

// A grantSet holds the grants of one lock state, one for each owner. Most have one; a lock with many readers in one
// process has thousands.
type grantSet struct {
	few  []*grant          // all, up to fewGrants of them
	many map[*owner]*grant // all, once there were more

	first [1]*grant // where few begins
}

func (gs *grantSet) len() int { return max(len(gs.few), len(gs.many)) }

// of returns the grant of an owner, or nil.
func (gs *grantSet) of(who *owner) *grant {
	if gs.many != nil {
		return gs.many[who]
	}
	for _, g := range gs.few {
		if g.owner == who {
			return g
		}
	}
	return nil
}

// add notes a grant. Its owner has no other.
func (gs *grantSet) add(g *grant) {
	switch {
	case gs.many != nil:
		gs.many[g.owner] = g
	case len(gs.few) < fewGrants:
		if gs.few == nil {
			gs.few = gs.first[:0]
		}
		gs.few = append(gs.few, g)
	default:
		gs.many = map[*owner]*grant{g.owner: g}
		for _, other := range gs.few {
			gs.many[other.owner] = other
		}
		gs.few = nil
	}
}

// remove takes a grant out if it is there.
func (gs *grantSet) remove(g *grant) {
	if gs.many[g.owner] == g {
		delete(gs.many, g.owner)
	}
	if i := slices.Index(gs.few, g); i >= 0 {
		gs.few = slices.Delete(gs.few, i, i+1)
	}
}

func (gs *grantSet) all() iter.Seq[*grant] {
	if gs.many != nil {
		return maps.Values(gs.many)
	}
	return slices.Values(gs.few)
}
