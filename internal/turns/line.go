package turns

import (
	"container/heap"
	"slices"
)

// waiter is a turn that was requested.
type waiter struct {
	weight int64
	places int           // how many the turn takes
	number int64         // in the order in which turns were requested
	turn   chan struct{} // closed when the turn has come
}

// line is one caller's waiters, first come, first served.
type line struct {
	caller  string
	waiting []*waiter
	places  int   // how many the waiters take together
	mark    int64 // what the caller will have had after its first waiter's turn, in the scale that compares callers
	at      int   // index in the heap
}

// remove removes a waiter from a line. The line's mark must be what the caller has had before the first waiter that stays.
func (t *Turns) remove(l *line, at int) {
	t.waiting -= l.waiting[at].places
	l.places -= l.waiting[at].places
	l.waiting = slices.Delete(l.waiting, at, at+1)
	if len(l.waiting) == 0 {
		heap.Remove(&t.first, l.at)
		delete(t.lines, l.caller)
		return
	}
	if at == 0 {
		l.mark += l.waiting[0].weight
		heap.Fix(&t.first, l.at)
	}
}

// marked is a heap of lines, the lowest mark on top; of equal marks, the line that has waited longer.
type marked []*line

// Len implements [heap.Interface].
func (m marked) Len() int { return len(m) }

// Less implements [heap.Interface].
func (m marked) Less(i, j int) bool {
	if m[i].mark != m[j].mark {
		return m[i].mark < m[j].mark
	}
	return m[i].waiting[0].number < m[j].waiting[0].number
}

// Swap implements [heap.Interface].
func (m marked) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].at, m[j].at = i, j
}

// Push implements [heap.Interface].
func (m *marked) Push(x any) {
	l := x.(*line)
	l.at = len(*m)
	*m = append(*m, l)
}

// Pop implements [heap.Interface].
func (m *marked) Pop() any {
	last := (*m)[len(*m)-1]
	(*m)[len(*m)-1] = nil
	*m = (*m)[:len(*m)-1]
	return last
}
