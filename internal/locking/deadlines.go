package locking

import (
	"container/heap"
	"time"
)

// deadlines are those of the holds of a process, the next one first, with one timer for all. Most holds end long before
// their deadline, which then costs nothing. Guarded by Locks.mu.
type deadlines struct {
	holds []*Hold
	timer *time.Timer
	next  time.Time // when the timer fires; zero when it does not
}

// Len implements heap.Interface.
func (d *deadlines) Len() int { return len(d.holds) }

// Less implements heap.Interface.
func (d *deadlines) Less(i, j int) bool { return d.holds[i].deadline.Before(d.holds[j].deadline) }

// Swap implements heap.Interface.
func (d *deadlines) Swap(i, j int) {
	d.holds[i], d.holds[j] = d.holds[j], d.holds[i]
	d.holds[i].rank, d.holds[j].rank = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(hold any) {
	h := hold.(*Hold)
	h.rank = len(d.holds)
	d.holds = append(d.holds, h)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(d.holds) - 1
	h := d.holds[last]
	h.rank = -1
	d.holds[last] = nil
	d.holds = d.holds[:last]
	return h
}

// addDeadlineLocked notes a hold's deadline.
func (l *Locks) addDeadlineLocked(h *Hold) {
	heap.Push(&l.deadlines, h)
	l.armDeadlinesLocked()
}

// moveDeadlineLocked notes that a hold's deadline has changed.
func (l *Locks) moveDeadlineLocked(h *Hold) {
	if h.rank >= 0 {
		heap.Fix(&l.deadlines, h.rank)
		l.armDeadlinesLocked()
	}
}

// removeDeadlineLocked forgets a hold.
func (l *Locks) removeDeadlineLocked(h *Hold) {
	if h.rank >= 0 {
		heap.Remove(&l.deadlines, h.rank)
	}
}

// armDeadlinesLocked sees to it that the timer fires for the next one. It may fire sooner, in vain.
func (l *Locks) armDeadlinesLocked() {
	d := &l.deadlines
	if len(d.holds) == 0 || !d.next.IsZero() && !d.holds[0].deadline.Before(d.next) {
		return
	}
	d.next = d.holds[0].deadline
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(d.next), l.meetDeadlines)
		return
	}
	d.timer.Reset(time.Until(d.next))
}

// meetDeadlines ends the holds whose time is over.
func (l *Locks) meetDeadlines() {
	l.mu.Lock()
	var over []*Hold
	d := &l.deadlines
	for now := time.Now(); len(d.holds) > 0 && !d.holds[0].deadline.After(now); {
		over = append(over, heap.Pop(d).(*Hold))
	}
	d.next = time.Time{}
	l.armDeadlinesLocked()
	l.mu.Unlock()
	l.lose(over)
}
