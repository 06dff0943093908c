package locking

import (
	"time"

	"inventory/internal/locking/internal/cleaner"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A settlement sets at the server how often holders have some locks of one bucket and kind.
type settlement struct {
	rows         []row            // for each lock
	attempt      *scripts.Attempt // nil if no count is settled
	tombstone    int64            // the attempt to cancel
	tombstoneFor time.Duration

	cleaner.Task // how the cleaner does it
}

// A row is the part of a settlement for one lock.
type row struct {
	lock    *lock
	grant   *grant // that it is about; may be nil
	id      string // of the holder; empty for none
	count   int
	longest time.Duration
	queue   string // what to do about the queue; empty for nothing
}

// number is the attempt as scripts take it: 0 if no count is settled.
func (s *settlement) number() any {
	if s.attempt == nil {
		return 0
	}
	return s.attempt
}

// Key implements cleaner.Work.
func (s *settlement) Key() string { return s.rows[0].lock.stateKey }

// Call implements cleaner.Work.
func (s *settlement) Call() scripts.Call { return s.rows[0].lock.kind.settling(s) }

// settleLater hands a settlement to the cleaner. The channel is closed when it has been tried.
func (l *Locks) settleLater(s *settlement) <-chan struct{} {
	s.Work = s
	return l.cleaner.Add(s.Task)
}

// settleBriefly is settleLater, and then waits a moment for the try.
func (l *Locks) settleBriefly(s *settlement) {
	select {
	case <-l.settleLater(s):
	case <-time.After(policy.Cleanup):
	}
}

// addTombstones has tombstones written for attempts that took what is being released, if the client has sent them more than
// once: a copy could arrive after the release. The first tombstone goes with the release. Without copies there is none: it
// would cost every release a key.
func (l *Locks) addTombstones(s *settlement, resent []int64, life time.Duration) {
	for _, number := range resent {
		if number == 0 {
			continue
		}
		if s.tombstone == 0 {
			s.tombstone, s.tombstoneFor = number, life
			continue
		}
		l.bury(s.rows[0].lock, number, life)
	}
}

// bury has a tombstone written for an attempt, and nothing else changed.
func (l *Locks) bury(a *lock, attempt int64, life time.Duration) {
	l.settleLater(&settlement{
		rows: []row{{lock: a}}, tombstone: attempt, tombstoneFor: life, Task: cleaner.Task{Until: time.Now().Add(life)},
	})
}

// rowLocked returns the row of a release for a grant. After the server's answer closeGrants must follow.
func (g *grant) rowLocked() row {
	r := row{lock: g.lock, grant: g, id: g.lease.id, count: g.countLocked(), longest: g.longestLocked()}
	g.told = r.count
	if r.count == 0 {
		g.closing++
	}
	g.lease.shortened = g.lease.shortened || r.longest < g.lease.duration
	return r
}
