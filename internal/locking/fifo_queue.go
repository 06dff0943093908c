package locking

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// A fifoAsker asks for one side of a first-come lock. Every caller queues at the server by itself, with a ticket of its own.
type fifoAsker struct {
	locks  *Locks
	fifo   *fifo
	acq    *acquisition
	target *target

	doubtful bool          // an attempt may have taken the lock under the id of the target, or may still do so
	asking   chan struct{} // closed when the caller no longer asks for a new grant; nil if it does not
}

func (f *fifo) newAsker(acq *acquisition, run []*target) asker {
	return &fifoAsker{locks: f.locks, fifo: f, acq: acq, target: run[0]}
}

// next lets the caller ask: to re-enter the grant that its owner holds, or for a grant of its own. If another
// acquisition of the owner is already asking for one, it waits for that.
func (f *fifoAsker) next([]*target) (action, error) {
	l, at := f.locks, share{f.fifo.stateKey, f.acq.owner}
	l.mu.Lock()
	again := l.reenterLocked(f.acq, f.target)
	over := l.asking[at]
	if !again && over == nil {
		f.asking = make(chan struct{})
		l.asking[at] = f.asking
	}
	l.mu.Unlock()
	switch {
	case again:
		return actionReenter, nil
	case over != nil:
		return actionRetry, l.awaitSibling(f.acq, over)
	}
	return actionAsk, nil
}

func (f *fifoAsker) end(*question) {
	l := f.locks
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.asking != nil {
		close(f.asking)
		f.asking = nil
		delete(l.asking, share{f.fifo.stateKey, f.acq.owner})
	}
}

// queueLocked lets the caller wait if it may, with a ticket. Wake-ups count from now on. It returns the ticket for the script, and
// what to do about the queue.
func (f *fifoAsker) queueLocked() (ticket, queue string) {
	l, w := f.locks, f.target.waiter
	if f.acq.try || w == nil && f.acq.waitIsOver(time.Now()) {
		return "", scripts.QueueIgnore
	}
	if w == nil {
		number := strconv.FormatInt(l.numbers.Add(1), 10)
		w = &waiter{owner: f.acq.owner, woken: make(chan struct{}, 1), ticket: number, fifo: f.fifo}
		f.target.waiter = w
		st := l.stateOfLocked(f.fifo.wakeKey)
		st.waiters = append(st.waiters, w)
	}
	w.looks()
	w.placed = true // from now on
	return w.ticket, scripts.QueueEnter
}

func (f *fifoAsker) ask(missing []*target) *question {
	l, p := f.locks, f.target
	l.mu.Lock()
	defer l.mu.Unlock()
	ticket, queue := f.queueLocked()
	q := &question{start: time.Now(), run: missing}
	q.attempt.Number = l.numbers.Add(1)
	if p.id == nil { // each further attempt is for the same grant
		p.id = holderID(l.process, f.acq.owner.id, q.attempt.Number)
	}
	q.call = f.fifo.newCall(scripts.FifoAcquire, q.attempt.Number, 10).With(l.process, &q.attempt, f.fifo.side, p.id,
		f.acq.leaseOr(l.lease).Milliseconds(), ticket, queue, f.fifo.otherSideLocked(f.acq.owner), policy.WaiterLifeMS, policy.PollMS)
	return q
}

func (f *fifoAsker) unanswered(q *question) {
	if q.attempt.GiveUp() {
		return // it never went out, and an earlier one may still have taken the lock
	}
	f.locks.cancel(f.acq, q, 0)
	f.doubtful = false // the cancellation is on its way
}

// cancelCopies has a tombstone written for an attempt: the next answer says what the lost one would have said. Nothing else
// changes.
func (f *fifoAsker) cancelCopies(q *question, _ int) {
	f.doubtful = true
	f.locks.writeTombstone(f.target.lock, q.attempt.Number, 2*f.acq.leaseOr(f.locks.lease))
}

// grantedLocked also wakes callers of the same owner that wait for either side: they need not wait any more.
func (f *fifoAsker) grantedLocked(p *target, _ *grant) {
	if p.waiter != nil {
		p.waiter.placed = false // the script took us out
	}
	f.doubtful = false // it is what has been granted
	if st := f.locks.states[f.fifo.wakeKey]; st != nil {
		st.wakeOwnerLocked(f.acq.owner, p.waiter)
	}
}

func (f *fifoAsker) stopped(_ *question, _ int, answer scripts.Acquired) time.Duration {
	return policy.AfterBusy(answer.Busy, true)
}

// leave gives up the ticket and the position in the queue, if there is one, and waits a moment for it to be gone. It gives
// back what an unanswered attempt may have taken.
func (f *fifoAsker) leave() {
	l, w := f.locks, f.target.waiter
	if w == nil {
		return
	}
	f.target.waiter = nil
	l.mu.Lock()
	l.removeLocked(f.fifo.wakeKey, w)
	l.mu.Unlock()
	if !w.placed && !f.doubtful {
		return
	}
	now := time.Now()
	s := &releaseCall{rows: []releaseRow{{lock: f.target.lock, queue: w.ticket}}}
	s.until = now.Add(policy.Cancel)
	if f.doubtful {
		s.rows[0].id, s.until = f.target.id, now.Add(2*f.acq.leaseOr(l.lease)+policy.Cancel)
	}
	l.releaseBriefly(s)
}

// The heartbeat shows the server every second which callers of this process wait in the queues of first-come locks, all in one
// round trip, and asks whether it is their turn, since wake-ups may be lost.

// beats sends heartbeats until stop. While nobody waits, none are sent.
func (l *Locks) beats() {
	(&server.Chore[heartbeat]{
		Server: l.server, Stop: l.stop, Period: policy.Poll, Due: l.heartbeats, Round: l.beat,
		Key: func(b heartbeat) string { return b.lock },
	}).Run(nil)
}

// A heartbeat is about waiters for one lock.
type heartbeat struct {
	lock    string
	waiters []*waiter
}

// heartbeats returns who waits in the queues, a batch of waiters in each. They are in order: that of a map would differ in each
// replay of a simulation.
func (l *Locks) heartbeats() (all []heartbeat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, st := range l.states {
		var queued []*waiter
		for _, w := range st.waiters {
			if w.placed {
				queued = append(queued, w)
			}
		}
		for some := range slices.Chunk(queued, server.Batch) {
			all = append(all, heartbeat{key, some})
		}
	}
	slices.SortStableFunc(all, func(a, b heartbeat) int { return strings.Compare(a.lock, b.lock) })
	return all
}

// beat beats once, and lets those waiters look again that should. It returns when to beat again at the latest: soon, if the server did
// not answer or somebody should look.
func (l *Locks) beat(line *server.Line, beats []heartbeat) (next time.Duration) {
	next = policy.Poll
	for trip := range server.Trips(line, beats, policy.Heartbeat, l.heartbeatCall) {
		for i, answer := range trip.Answers {
			words, err := answer.StringSlice() // when to beat again at the latest, and who should look
			switch {
			case err != nil && server.IsAnswer(err): // it refuses, perhaps for long, and so passes over nobody
				continue
			case err != nil || len(words) == 0:
				next = min(next, policy.Soon)
				continue
			}
			if left, err := strconv.Atoi(words[0]); err == nil {
				next = min(next, max(time.Duration(left+1)*time.Millisecond, policy.Sooner))
			}
			for _, w := range trip.Work[i].waiters {
				if slices.Contains(words[1:], w.ticket) {
					signal(w.woken)
					next = min(next, policy.Soon)
				}
			}
		}
	}
	return next
}

func (l *Locks) heartbeatCall(b heartbeat) scripts.Call {
	call := b.waiters[0].fifo.newCall(scripts.FifoHeartbeat, 0, 4+len(b.waiters)).
		With(l.process, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS)
	for _, w := range b.waiters {
		call = call.With(w.ticket)
	}
	return call
}
