package locking

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A State is the server's state of a lock at one instant. It is for display and tests: the lock may have changed since.
type State struct {
	Holders   []Holder      // who holds the lock; several for a lock with readers
	Reserved  bool          // it is free, and reserved for a waiter for a moment
	Token     int64         // the fencing token that the holder began with; 0 where nobody holds it
	Remaining time.Duration // until the lock would be free if nobody did anything
	Waiting   int           // how many queue: processes for a Mutex, waiters for the other kinds
}

// A Holder is an owner that holds a lock.
type Holder struct {
	Owner     string // as Hold.Owner says it; a name with an asterisk while a lock passes inside a process
	Count     int    // how many holds it has; 1 if it belongs to another process
	Read      bool   // the hold is a reader's
	Remaining time.Duration
}

// Held reports whether the lock is held.
func (s State) Held() bool { return len(s.Holders) > 0 }

// Inspect asks the server who holds the lock and how many wait: of both sides, where it has two.
func (a *lock) Inspect(ctx context.Context) (State, error) {
	state, _, err := a.inspect(ctx, "inspect", time.Now().Add(policy.Release))
	return state, err
}

// inspect reads the state of the lock, and what a script needs to mean the holders of this instant only.
func (a *lock) inspect(ctx context.Context, verb string, until time.Time) (State, sighting, error) {
	answer, err := a.ask(ctx, verb, until, a.kind.inspecting(a))
	if err != nil {
		return State{}, sighting{}, err
	}
	state, seen, err := readState(answer)
	if err != nil {
		return State{}, sighting{}, failed(verb, a.name, err)
	}
	a.locks.countHolds(state.Holders, seen.ids)
	return state, seen, nil
}

// countHolds says of holders with these ids how many holds they have. The server does not know that, only their own process.
func (l *Locks) countHolds(holders []Holder, ids []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.grants {
		if i := slices.Index(ids, any(g.id)); i >= 0 && len(g.holds) > 0 {
			holders[i].Count = len(g.holds)
		}
	}
}

// readState reads the answer of inspect.lua and fifo_inspect.lua: five words about the lock, and three about each holder.
func readState(answer any) (State, sighting, error) {
	list, ok := answer.([]any)
	if !ok || len(list)%3 != 2 || len(list) == 2 {
		return State{}, sighting{}, scripts.Strange(answer)
	}
	var strange error
	number := func(word any) int64 {
		n, err := strconv.ParseInt(fmt.Sprint(word), 10, 64)
		if err != nil {
			strange = scripts.Strange(answer)
		}
		return n
	}
	left := func(word any) time.Duration { return time.Duration(number(word)) * time.Millisecond }
	s := State{Waiting: int(number(list[0])), Remaining: left(list[3])}
	seen := sighting{at: number(list[4])}
	for about := range slices.Chunk(list[5:], 3) {
		seen.ids = append(seen.ids, about[1])
		h := Holder{
			Owner: ownerOf(fmt.Sprint(about[1])), Count: 1, Read: about[0] == scripts.Read, Remaining: left(about[2]),
		}
		s.Holders = append(s.Holders, h)
		s.Remaining = max(s.Remaining, h.Remaining)
	}
	if s.Held() {
		s.Token = number(list[2])
	} else {
		s.Reserved = number(list[1]) == 1
	}
	return s, seen, strange
}

// ForceUnlock frees the lock, whoever holds it and however often, and reports whether it did. It asks who holds the lock, and
// then takes it from them: who gets the lock after that question keeps it. Of an RWMutex it frees this side: all readers, or the
// writer. The holders learn of the loss at their next renewal, or when they unlock. Until then their work and the next
// holder's can overlap, and only the fencing token tells them apart; and callers of the holder's process, which wait for it to
// hand over, may find the lock busy if they wait for less than a second.
func (a *lock) ForceUnlock(ctx context.Context) (bool, error) {
	until := time.Now().Add(policy.Release)
	before := a.locks.grantsOf(a) // whoever gets the lock after it was freed keeps it
	_, seen, err := a.inspect(ctx, "force", until)
	if err != nil {
		return false, err
	}
	answer, err := a.ask(ctx, "force", until, a.kind.forcing(a, seen))
	if err != nil {
		return false, err
	}
	freed, ok := answer.(int64)
	if !ok {
		return false, failed("force", a.name, scripts.Strange(answer))
	}
	if freed == 1 {
		for _, g := range before {
			a.locks.loseGrant(g)
		}
	}
	return freed == 1, nil
}

// ask runs a script that belongs to no attempt.
func (a *lock) ask(ctx context.Context, verb string, until time.Time, call scripts.Call) (any, error) {
	if a.name == "" {
		return nil, ErrEmptyName
	}
	l := a.locks
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	answer, err := l.server.Run(ctx, until, l.closing, call, &scripts.Attempt{})
	if err != nil {
		return nil, failed(verb, a.name, err)
	}
	return answer, nil
}

// grantsOf returns what this process has of a lock.
func (l *Locks) grantsOf(a *lock) (grants []*grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, g := range l.grants {
		if at.state == a.stateKey {
			grants = append(grants, g)
		}
	}
	return grants
}

// Count returns how often the owner that ctx carries holds the lock through these Locks; 0 when it does not.
func (a *lock) Count(ctx context.Context) int {
	who, ok := ctx.Value(ownerKey{}).(*owner)
	if !ok {
		return 0
	}
	a.locks.mu.Lock()
	defer a.locks.mu.Unlock()
	if g := a.locks.grantOfLocked(a.stateKey, who); g != nil {
		return len(g.holds)
	}
	return 0
}
