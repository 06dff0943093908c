package locking

import (
	"slices"
	"testing"
	"time"

	"inventory/internal/locking/internal/policy"
)

// queue puts tickets into the queue of a lock, as far as this process knows.
func queue(f *FairMutex, numbers ...string) {
	f.locks.mu.Lock()
	defer f.locks.mu.Unlock()
	for _, number := range numbers {
		f.locks.tickets.addLocked(&ticket{number: number, fifo: f.fifo, queued: true, waiter: waiter{owner: &owner{}, woken: make(chan struct{}, 1)}})
	}
}

// woken returns the tickets whose callers are to look again.
func woken(l *Locks) (numbers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for number, t := range l.tickets.all {
		if len(t.waiter.woken) > 0 {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Waiters that the server does not know any more learn that they must ask, for all locks together. Then the next beat
// comes soon.
func TestHeartbeatWakesWhoIsNotInTheQueue(t *testing.T) {
	onRedis(t, func(w *world) {
		l := w.locks()
		if waiting, next := l.beat(); waiting || next != policy.Poll {
			t.Errorf("nobody waits: %t, next after %s", waiting, next)
		}
		queue(l.FairMutex(w.name+"a"), "1", "2")
		queue(l.FairMutex(w.name+"b"), "3")
		waiting, next := l.beat()
		if looked := woken(l); !slices.Equal(looked, []string{"1", "2", "3"}) || !waiting || next != policy.Soon {
			t.Errorf("looked: %v, waiting %t, next after %s", looked, waiting, next)
		}
	})
}

// It rests while there are no waiters, and beats again when one comes.
func TestHeartbeatRests(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locks()
		time.Sleep(3 * policy.Poll / 2) // the test needs this time to pass, until it rests
		queue(l.FairMutex(w.name), "1") // and nobody says so
		time.Sleep(5 * policy.Poll / 2)
		if looked := woken(l); looked != nil {
			t.Errorf("it has beaten: %v", looked)
		}
		signal(l.queues)
		w.soon("somebody comes", func() bool { return woken(l) != nil })
	})
}
