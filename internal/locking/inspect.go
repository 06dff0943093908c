package locking

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A State is what the server says of a lock at one instant. It is for people and tests: when it is read, it
// is past already.
type State struct {
	Holders   []Holder      // who holds the lock; several for a lock with readers
	Reserved  bool          // it is free, and reserved for a waiter for a moment
	Token     int64         // the fencing token that the holder began with; 0 where nobody holds it
	Remaining time.Duration // until the lock would be free if nobody did anything
	Waiting   int           // how many queue: processes for a Mutex, waiters for the other kinds
}

// A Holder is an owner that holds a lock.
type Holder struct {
	Owner     string // as Hold.Owner says it, of a RedLock that of one of its parts; a name with an asterisk while a lock passes inside a process
	Count     int    // how many holds it has
	Read      bool   // the hold is a reader's
	Remaining time.Duration
}

// Held tells whether anybody holds the lock.
func (s State) Held() bool { return len(s.Holders) > 0 }

// Inspect asks the server who holds the lock and how many wait.
func (m *Mutex) Inspect(ctx context.Context) (State, error) {
	answer, err := m.ask(ctx, "inspect", scripts.Inspect.NewCall(2, 0).With(m.stateKey, m.queueKey))
	if err != nil {
		return State{}, err
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 {
		return State{}, failed("inspect", m.name, scripts.Strange(answer))
	}
	ttl, _ := list[0].(int64)
	waiting, _ := list[1].(int64)
	state := State{Remaining: time.Duration(max(ttl, 0)) * time.Millisecond, Waiting: int(waiting)}
	for i := 2; i+1 < len(list); i += 2 {
		if err := state.read(fmt.Sprint(list[i]), fmt.Sprint(list[i+1])); err != nil {
			return State{}, failed("inspect", m.name, err)
		}
	}
	return state, nil
}

// read takes up a field of the state. Only the names of holders have a colon.
func (s *State) read(field, value string) error {
	switch {
	case field == "claim":
		s.Reserved = true
	case field == "token":
		token, err := scripts.ReadToken(value)
		s.Token = token
		return err
	case strings.Contains(field, ":"):
		count, err := strconv.Atoi(value)
		s.Holders = append(s.Holders, Holder{Owner: keys.OwnerOf(field), Count: count, Remaining: s.Remaining})
		return err
	}
	return nil
}

// ForceUnlock frees the lock, whoever holds it and however often, and tells whether anybody did. The holder
// learns of the loss at its next renewal, or when it unlocks; until then its work and the next holder's can
// overlap, and only the fencing token tells them apart.
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	return m.force(ctx, scripts.Force.NewCall(2, 1).With(m.stateKey, m.queueKey, policy.ReservationMS))
}

// ask runs a script that belongs to no attempt.
func (a *lock) ask(ctx context.Context, verb string, call scripts.Call) (any, error) {
	if a.name == "" {
		return nil, ErrEmptyName
	}
	l := a.locks
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.calls.Done()
	answer, err := l.server.Run(ctx, time.Now().Add(policy.Release), l.closing, call, &scripts.Attempt{})
	if err != nil {
		return nil, failed(verb, a.name, err)
	}
	return answer, nil
}

// force runs a script that takes a lock from whoever holds it, and tells whether anybody did.
func (a *lock) force(ctx context.Context, call scripts.Call) (bool, error) {
	answer, err := a.ask(ctx, "force", call)
	if err != nil {
		return false, err
	}
	freed, ok := answer.(int64)
	if !ok {
		return false, failed("force", a.name, scripts.Strange(answer))
	}
	if freed == 1 {
		a.locks.loseAll(a)
	}
	return freed == 1, nil
}

// loseAll ends whatever this process holds of a lock.
func (l *Locks) loseAll(a *lock) {
	var holds []*Hold
	l.mu.Lock()
	if st := l.states[a.stateKey]; st != nil {
		for g := range st.grants.all() {
			g.gone = true
			holds = append(holds, g.holds...)
		}
	}
	l.mu.Unlock()
	l.lose(holds)
}

// Count tells how often the owner that ctx carries holds the lock through these Locks: 0 when it does not.
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
