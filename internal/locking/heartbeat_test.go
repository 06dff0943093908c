package locking

import (
	"slices"
	"testing"
	"time"

	"inventory/internal/locking/internal/policy"
)

// queue puts waiters into the queue of a lock, as far as this process knows.
func queue(f *FairMutex, numbers ...string) {
	f.locks.mu.Lock()
	defer f.locks.mu.Unlock()
	st := f.locks.stateOfLocked(f.wakeKey)
	for _, number := range numbers {
		st.waiters = append(st.waiters, &waiter{ticket: number, fifo: f.fifo, placed: true, owner: &owner{}, woken: make(chan struct{}, 1)})
	}
}

// beatOnce sends all heartbeats to the one server.
func (l *Locks) beatOnce() (next time.Duration) {
	line := l.server.Line(l.server.NodeOf(""))
	defer line.Close()
	return l.beat(line, l.heartbeats())
}

// woken returns the tickets whose callers are to look again.
func woken(l *Locks) (numbers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range l.states {
		for _, w := range st.waiters {
			if len(w.woken) > 0 {
				numbers = append(numbers, w.ticket)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Waiters that the server does not know any more learn that they must ask, for all locks together. Then the next beat
// comes soon. A heartbeat that a busy machine answers late would come soon, too: the time is virtual.
func TestHeartbeatWakesWhoIsNotInTheQueue(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locks()
		if next := l.beatOnce(); next != policy.Poll {
			t.Errorf("nobody waits, next after %s", next)
		}
		queue(l.FairMutex(w.name+"a"), "1", "2")
		queue(l.FairMutex(w.name+"b"), "3")
		next := l.beatOnce()
		if looked := woken(l); !slices.Equal(looked, []string{"1", "2", "3"}) || next != policy.Soon {
			t.Errorf("looked: %v, next after %s", looked, next)
		}
	})
}

// While nobody waits the server hears nothing, and who comes is soon shown to it.
func TestHeartbeatRests(t *testing.T) {
	virtual(t, func(w *world) {
		l, tap := w.tapped()
		before := tap.count()
		time.Sleep(5 * policy.Poll / 2) // virtual time
		if n := tap.count() - before; n != 0 {
			t.Errorf("%d commands of a process without waiters", n)
		}
		queue(l.FairMutex(w.name), "1")
		w.soon("it is shown", func() bool { return woken(l) != nil })
	})
}
