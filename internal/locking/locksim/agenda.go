package locksim

import (
	"cmp"
	"container/heap"
	"sync"
	"testing/synctest"
	"time"
)

// An agenda makes things happen one at a time, each at its moment. After each it lets everybody else come
// to rest before the next: this is what makes a history the same each time it is run.
type agenda struct {
	mu     sync.Mutex
	events events
	count  uint64
	news   chan struct{}
	stop   chan struct{}
	done   chan struct{}
	rested func() // called when all is at rest after an event
}

type event struct {
	at   time.Time
	rank uint64 // decides between two of one moment, not depending on who asked first
	nth  uint64
	does func()
}

func newAgenda(rested func()) *agenda {
	return &agenda{
		news:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		rested: rested,
	}
}

// at adds something that happens at a moment.
func (a *agenda) at(when time.Time, rank uint64, does func()) {
	a.mu.Lock()
	a.count++
	heap.Push(&a.events, &event{at: when, rank: rank, nth: a.count, does: does})
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// run works until end is called.
func (a *agenda) run() {
	defer close(a.done)
	for {
		next, wait := a.next()
		if next != nil {
			next.does()
			synctest.Wait()
			a.rested()
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			synctest.Wait() // the clients' own timers of this moment come first
		case <-a.news:
		case <-a.stop:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// next returns the event that is due, or how long there is nothing to do.
func (a *agenda) next() (*event, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.events) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(a.events[0].at); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&a.events).(*event), 0
}

// end stops the agenda; what has not happened does not happen.
func (a *agenda) end() {
	close(a.stop)
	<-a.done
}

// events is a heap, the earliest on top.
type events []*event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push is for package heap.
func (e *events) Push(x any) { *e = append(*e, x.(*event)) }

func (e events) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].rank, e[j].rank), cmp.Compare(e[i].nth, e[j].nth)) < 0
}

// Pop is for package heap.
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}
