package locking

import (
	"context"
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/quorum"
)

// Inspect asks all nodes, and returns what a quorum of them agrees on. A grant is identified by its token, which is the same
// on all of its nodes. Remaining is the time until a quorum would be free.
func (r *Red) Inspect(ctx context.Context) (State, error) {
	if r.err != nil {
		return State{}, r.err
	}
	replies := askAll(r.locks, r.quorum(), policy.Node, func(i int, _ <-chan struct{}) (State, error) { return r.nodes[i].Inspect(ctx) }, nil)
	states, err := agreeing(r, "inspect", replies)
	if err != nil {
		return State{}, err
	}
	return r.agreed(states), nil
}

// agreed combines the states of the nodes into one.
func (r *Red) agreed(states []State) State {
	var whole State
	var free []time.Duration
	grants := make(map[int64][]Holder)
	for _, s := range states {
		whole.Waiting = max(whole.Waiting, s.Waiting)
		whole.Reserved = whole.Reserved || s.Reserved
		free = append(free, s.Remaining)
		if s.Held() {
			grants[s.Token] = append(grants[s.Token], s.Holders[0])
		}
	}
	slices.Sort(free)
	whole.Remaining = free[r.quorum()-1]
	for token, mine := range grants {
		if len(mine) >= r.quorum() {
			whole.Reserved, whole.Token = false, token
			whole.Holders = []Holder{r.holder(mine)}
		}
	}
	return whole
}

// holder combines what the nodes report of one holder. Its name is from the first node that knows it.
func (r *Red) holder(mine []Holder) Holder {
	h := Holder{Owner: mine[0].Owner}
	if i := slices.IndexFunc(mine, func(h Holder) bool { return !strings.Contains(h.Owner, ":*") }); i >= 0 {
		h.Owner = mine[i].Owner
	}
	var counts []int
	var left []time.Duration
	for _, m := range mine {
		counts, left = append(counts, m.Count), append(left, m.Remaining)
	}
	h.Count, h.Remaining = quorum.Nth(counts, r.quorum()), quorum.Nth(left, r.quorum())
	return h
}

// ForceUnlock frees the lock on all nodes, whoever holds it there, and reports whether it was held on any of them. Fewer
// answers than a quorum are an error.
func (r *Red) ForceUnlock(ctx context.Context) (bool, error) {
	if r.err != nil {
		return false, r.err
	}
	replies := askAll(r.locks, len(r.nodes), policy.Release, func(i int, _ <-chan struct{}) (bool, error) { return r.nodes[i].ForceUnlock(ctx) }, nil)
	freed, err := agreeing(r, "force", replies)
	return slices.Contains(freed, true), err
}
