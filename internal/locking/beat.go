package locking

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// beatLife is after what time without a heartbeat the server drops a waiter; fifo.lua knows it too.
	beatLife = 3 * time.Second

	// beatBound is how long an answer to heartbeats may take: if it was lost, there must be time for more.
	beatBound = beatLife / 2
)

// The heart shows the server every second which callers of this process wait in the queues of first-come
// locks, all in one trip, and looks for them whether it is their turn: wake-ups may be lost. It begins to
// beat with the first wait.
type heart struct {
	locks *Locks
	once  sync.Once
	news  chan struct{} // somebody waits
}

func newHeart(l *Locks) *heart { return &heart{locks: l, news: make(chan struct{}, 1)} }

// start sees to it that the heart beats.
func (h *heart) start() {
	h.once.Do(func() { h.locks.loops.Go(h.run) })
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// run beats while somebody waits, until stop.
func (h *heart) run() {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-h.locks.stop:
			return
		}
		start := time.Now()
		waiting, next := h.beat()
		if !waiting {
			select {
			case <-h.news:
			case <-h.locks.stop:
				return
			}
			start, next = time.Now(), pollInterval
		}
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// beat does it once. It tells whether anybody waits, and when to do it again.
func (h *heart) beat() (waiting bool, next time.Duration) {
	next = pollInterval
	errands := h.errands()
	var mu sync.Mutex
	together(byNode(h.locks, errands, errand.key), func(mine []errand) {
		for some := range slices.Chunk(mine, batch) {
			again, heard := h.send(some)
			mu.Lock()
			next = min(next, again)
			mu.Unlock()
			if !heard {
				return // to wait for each batch of a node that stands still would let those at the others die
			}
		}
	})
	return len(errands) > 0, next
}

// errands returns what the server must be told of: of each lock who waits for it, some at a time.
func (h *heart) errands() []errand {
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	calls := make(map[string]scriptCall)
	var errands []errand
	for _, t := range h.locks.tickets.all {
		if !t.queued {
			continue
		}
		key := t.fifo.wakes
		call := calls[key]
		if call == nil {
			call = append(t.fifo.newCall(fifoBeatScript, 0, batch), h.locks.boxed)
		}
		call = append(call, t.number)
		if calls[key] = call; len(call) == cap(call) {
			errands = append(errands, errand{script: fifoBeatScript, call: call})
			delete(calls, key)
		}
	}
	for _, call := range calls {
		errands = append(errands, errand{script: fifoBeatScript, call: call})
	}
	return errands
}

// send brings heartbeats to the server, and lets those look again for whom it makes sense. It returns when
// to beat again at the latest: soon, when the server did not answer or somebody has been woken; and whether it answered
// at all.
func (h *heart) send(errands []errand) (next time.Duration, heard bool) {
	l := h.locks
	next, soon := pollInterval, pollInterval/10
	answers := l.pipeline(time.Now().Add(beatBound), errands)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, answer := range answers {
		look, err := answer.StringSlice()
		heard = heard || isHeard(err)
		if err != nil || len(look) == 0 {
			next = min(next, soon)
			continue
		}
		if left, err := strconv.Atoi(look[0]); err == nil {
			next = min(next, max(time.Duration(left+1)*time.Millisecond, soon/10))
		}
		for _, number := range look[1:] {
			l.tickets.wake(number)
			next = min(next, soon)
		}
	}
	return next, heard
}
