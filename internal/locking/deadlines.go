package locking

import (
	"slices"
	"time"
)

// deadlines holds the deadlines of a process's holds, the next one first, with one timer for all. Most holds end long before
// their deadline, which then costs nothing. Guarded by Locks.mu.
type deadlines struct {
	holds []*singleHold // by deadline
	fire  func()
	timer *time.Timer
	next  time.Time // when the timer fires; zero when it does not
}

// place returns the index of the first deadline that is not before a moment.
func (d *deadlines) place(at time.Time) int {
	i, _ := slices.BinarySearchFunc(d.holds, at, func(h *singleHold, at time.Time) int { return h.deadline.Compare(at) })
	return i
}

// add notes a hold's deadline.
func (d *deadlines) add(h *singleHold) {
	d.holds = slices.Insert(d.holds, d.place(h.deadline), h)
	d.arm()
}

// remove removes a hold, and reports whether it was there.
func (d *deadlines) remove(h *singleHold) bool {
	for i := d.place(h.deadline); i < len(d.holds) && d.holds[i].deadline.Equal(h.deadline); i++ {
		if d.holds[i] == h {
			d.holds = slices.Delete(d.holds, i, i+1)
			return true
		}
	}
	return false
}

// move gives a hold another deadline.
func (d *deadlines) move(h *singleHold, deadline time.Time) {
	there := d.remove(h)
	if h.deadline = deadline; there {
		d.add(h)
	}
}

// arm makes sure that the timer fires for the next one. It may fire earlier, for nothing.
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
func (d *deadlines) take(now time.Time) (over []*singleHold) {
	n := d.place(now.Add(1))
	over = slices.Clone(d.holds[:n])
	d.holds = slices.Delete(d.holds, 0, n)
	d.next = time.Time{}
	d.arm()
	return over
}
