package locking

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
)

// Locks is one process's way to the locks on one Redis: its identity, its watchdog, its subscription and
// its lock states. Make one per server and process, and share it. It is safe for concurrent use.
type Locks struct {
	server   *server.Server
	process  string        // names this process in the states, queues and channels
	lease    time.Duration // what holds get that the watchdog renews
	observer Observer
	address  string       // names the server, for the order of locks that all processes share
	numbers  atomic.Int64 // number of the last attempt
	releases atomic.Int64 // how many are under way

	subscription *subscription.Subscription
	subscribed   sync.Once // it begins with the first wait

	cleaning sync.Mutex
	cleanups []*releaseCall // what the cleaner is to do; guarded by cleaning
	unclean  chan struct{}  // with room for one: there is something

	queues  chan struct{}  // with room for one: a caller queues for a first-come lock
	hurry   chan struct{}  // with room for one: the watchdog is to renew at once
	closing chan struct{}  // closed: waiting ends
	stop    chan struct{}  // closed: the loops end
	calls   sync.WaitGroup // Lock, TryLock and Unlock, while they run
	loops   sync.WaitGroup // the watchdog, the cleaner, the heartbeat, the subscription

	mu     sync.Mutex
	closed bool
	registry
}

// enter begins a call that Close waits for; it ends with l.calls.Done.
func (l *Locks) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.calls.Add(1)
	return nil
}

// attempt returns a new attempt. Its number is above those of all attempts before it.
func (l *Locks) attempt() *scripts.Attempt { return &scripts.Attempt{Number: l.numbers.Add(1)} }

// hurryLocked lets the watchdog renew at once what has begun late: the answer took long.
func (l *Locks) hurryLocked(h *singleHold) {
	if h.isLateLocked() {
		signal(l.hurry)
	}
}

// signal sends to a channel with room for one. What is there already says the same.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// A registry is what this process knows of its locks: what it holds, and who waits for what. Guarded by Locks.mu.
type registry struct {
	states  map[string]*lockState // what is known of mutexes, by state key
	grants  map[share]*grant
	asking  map[share]chan struct{} // a caller asks the server for a first-come lock; closed when it no longer does
	tickets tickets
}

// A share is what one owner has to do with one lock.
type share struct {
	state string
	owner *owner
}

// A lockState is what this process knows of one mutex, while it holds it or waits for it.
type lockState struct {
	lease   *lease    // this process holds the lock; it may pass between owners
	waiters []*waiter // first come, first served
	queued  bool      // the process may be in the server's queue, or may have its reservation
	placed  bool      // the server has said that it is in the queue
	called  bool      // a wake-up has come since
}

// stateOfLocked returns the lock state of a lock.
func (l *Locks) stateOfLocked(a *lock) *lockState {
	st := l.states[a.stateKey]
	if st == nil {
		st = &lockState{}
		l.states[a.stateKey] = st
	}
	return st
}

// tidyLocked forgets a lock state with nothing in it.
func (l *Locks) tidyLocked(a *lock) {
	if st := l.states[a.stateKey]; st != nil && len(st.waiters) == 0 && st.lease == nil {
		delete(l.states, a.stateKey)
	}
}

// wakeHeadLocked lets the first in line look again.
func (st *lockState) wakeHeadLocked() {
	if len(st.waiters) > 0 {
		signal(st.waiters[0].woken)
	}
}

// wakeOwnerLocked lets all callers of an owner except one look again: they need not wait for the server's answer.
func (st *lockState) wakeOwnerLocked(who *owner, but *waiter) {
	for _, w := range st.waiters {
		if w.owner == who && w != but {
			signal(w.woken)
		}
	}
}

// grantOfLocked returns what an owner has of the lock with a state key, or nil.
func (l *Locks) grantOfLocked(state string, who *owner) *grant {
	if g := l.grants[share{state, who}]; g != nil && g.countLocked() > 0 {
		return g
	}
	return nil
}

// undecidedLocked returns what to wait for while an owner has a grant without a hold: the release is under way, or a
// re-entry. The server answers busy then, although no other owner is in the way.
func (l *Locks) undecidedLocked(state string, who *owner) <-chan struct{} {
	g := l.grants[share{state, who}]
	if g == nil || len(g.holds) > 0 {
		return nil
	}
	if g.decided == nil {
		g.decided = make(chan struct{})
	}
	return g.decided
}

// A ticket is a caller of this process who waits in the queue of a first-come lock.
type ticket struct {
	number string
	fifo   *fifo
	waiter waiter
	queued bool // it may be in the queue
}

// The tickets of this process. Guarded by Locks.mu.
type tickets struct {
	all    map[string]*ticket
	owners map[*owner][]*ticket
}

// addLocked notes a ticket.
func (s *tickets) addLocked(t *ticket) {
	s.all[t.number] = t
	s.owners[t.waiter.owner] = append(s.owners[t.waiter.owner], t)
}

// dropLocked forgets a ticket.
func (s *tickets) dropLocked(t *ticket) {
	delete(s.all, t.number)
	others := slices.DeleteFunc(s.owners[t.waiter.owner], func(other *ticket) bool { return other == t })
	if len(others) == 0 {
		delete(s.owners, t.waiter.owner)
	} else {
		s.owners[t.waiter.owner] = others
	}
}

// wakeLocked lets one waiter look again. One that has gone leaves the queue as well, and so wakes the next.
func (s *tickets) wakeLocked(number string) {
	if t := s.all[number]; t != nil {
		signal(t.waiter.woken)
	}
}

// wakeOwnerLocked lets the waiters of an owner look again.
func (s *tickets) wakeOwnerLocked(who *owner) {
	for _, t := range s.owners[who] {
		signal(t.waiter.woken)
	}
}
