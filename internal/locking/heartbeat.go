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

// heartbeats returns the script calls that tell the server who waits for each lock, a batch of waiters in each.
func (l *Locks) heartbeats() []scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]scripts.Call)
	var calls []scripts.Call
	for _, t := range l.tickets.all {
		if !t.queued {
			continue
		}
		key := t.fifo.wakeKey
		call, ok := open[key]
		if !ok {
			call = t.fifo.newCall(scripts.FifoHeartbeat, 0, 3+server.Batch).With(l.boxed, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS)
		}
		call = call.With(t.number)
		if open[key] = call; len(call.Command) == cap(call.Command) {
			calls = append(calls, call)
			delete(open, key)
		}
	}
	return slices.AppendSeq(calls, maps.Values(open))
}

// wakeTickets lets waiters look again.
func (l *Locks) wakeTickets(numbers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, number := range numbers {
		l.tickets.wakeLocked(number)
	}
}
