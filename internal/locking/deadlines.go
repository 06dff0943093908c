package locking

import (
	"container/heap"
	"time"
)

// deadlines are those of the holds of a process, the next one first, with one timer for all. Most holds end long before
// their deadline, which then costs nothing. Guarded by Locks.mu.
type deadlines struct {
	holds []*Hold
	fire  func()
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

// add notes a hold's deadline.
func (d *deadlines) add(h *Hold) {
	heap.Push(d, h)
	d.arm()
}

// move notes that a hold's deadline has changed.
func (d *deadlines) move(h *Hold) {
	if h.rank >= 0 {
		heap.Fix(d, h.rank)
		d.arm()
	}
}

// remove forgets a hold.
func (d *deadlines) remove(h *Hold) {
	if h.rank >= 0 {
		heap.Remove(d, h.rank)
	}
}

// arm sees to it that the timer fires for the next one. It may fire sooner, in vain.
func (d *deadlines) arm() {
	if len(d.holds) == 0 || !d.next.IsZero() && !d.holds[0].deadline.Before(d.next) {
		return
	}
	d.next = d.holds[0].deadline
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(d.next), d.fire)
		return
	}
	d.timer.Reset(time.Until(d.next))
}

// take removes the holds whose time is over, when the timer has fired.
func (d *deadlines) take(now time.Time) (over []*Hold) {
	for len(d.holds) > 0 && !d.holds[0].deadline.After(now) {
		over = append(over, heap.Pop(d).(*Hold))
	}
	d.next = time.Time{}
	d.arm()
	return over
}
