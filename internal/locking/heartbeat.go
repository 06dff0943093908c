package locking

import (
	"maps"
	"slices"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// startHeartbeat sees to it that the heartbeat beats.
func (l *Locks) startHeartbeat() {
	l.beating.Do(func() { l.loops.Go(func() { l.heartbeat.Run(l.stop) }) })
	l.heartbeat.Wake()
}

// heartbeats returns the script calls that tell the server who waits for each lock, a batch of waiters in each. They come in
// the order of the tickets: that of a map would be another one in each replay of a simulation.
func (l *Locks) heartbeats() []scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]int) // of a lock, its call that still has room
	var calls []scripts.Call
	for _, number := range slices.Sorted(maps.Keys(l.tickets.all)) {
		t := l.tickets.all[number]
		if !t.queued {
			continue
		}
		key := t.fifo.wakeKey
		at, ok := open[key]
		if !ok || len(calls[at].Command) == cap(calls[at].Command) {
			at = len(calls)
			open[key] = at
			calls = append(calls, t.fifo.newCall(scripts.FifoHeartbeat, 0, 3+server.Batch).With(l.boxed, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS))
		}
		calls[at] = calls[at].With(t.number)
	}
	return calls
}

// wakeTickets lets waiters look again.
func (l *Locks) wakeTickets(numbers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, number := range numbers {
		l.tickets.wakeLocked(number)
	}
}
