package locking

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
)

// A guard is what a lock protects: it takes writes with tokens, and notices two writers at once. A writer that a busy machine has
// held up for longer than its lease knows that its hold is over, and does not count.
type guard struct {
	t *testing.T

	mu       sync.Mutex
	last     int64
	inside   *Hold
	writes   int
	stale    int
	overlaps int
}

// work is done under a hold.
func (g *guard) work(h *Hold, d time.Duration) {
	g.enter(h)
	time.Sleep(d)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside == h {
		g.inside = nil
	}
}

// enter writes. It accepts a token that is higher than every one before.
func (g *guard) enter(h *Hold) {
	g.mu.Lock()
	defer g.mu.Unlock()
	token := h.Token()
	if token == g.last {
		g.t.Errorf("token %d was given twice", token)
	}
	if g.inside != nil && g.inside.Remaining() > 0 && h.Remaining() > 0 {
		g.overlaps++
	}
	g.inside = h
	switch {
	case token > g.last:
		g.last = token
		g.writes++
	case h.Remaining() > 0:
		g.stale++
	}
}

func (g *guard) seen() (writes, stale, overlaps int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writes, g.stale, g.overlaps
}

// Callers lock and unlock, each until it has had its cycles and should stop.
type callers struct {
	guard    *guard
	members  sync.WaitGroup
	stop     chan struct{}
	failures atomic.Int32
}

// cycle begins. Errors are counted: the test decides whether there may be any.
func (w *world) cycle(cycles int, mutexes ...*Mutex) *callers {
	c := &callers{guard: &guard{t: w.t}, stop: make(chan struct{})}
	ctx := w.ctx()
	for _, m := range mutexes {
		c.members.Go(func() {
			for done, stopped := 0, false; (done < cycles || !stopped) && ctx.Err() == nil; {
				h, err := m.Lock(ctx, Wait(busytest.Patience))
				if err != nil {
					c.failures.Add(1)
				} else {
					done++
					c.guard.work(h, time.Millisecond)
					// An unlock without an answer, on a busy machine, is repeated in the background.
					if err := h.Unlock(ctx); err != nil && !errors.Is(err, ErrNoAnswer) {
						c.failures.Add(1)
					}
				}
				select {
				case <-c.stop:
					stopped = true
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	return c
}

// await waits for that many further writes.
func (w *world) await(c *callers, writes int) {
	w.t.Helper()
	before, _, _ := c.guard.seen()
	w.soon(fmt.Sprintf("%d more writes", writes), func() bool { n, _, _ := c.guard.seen(); return n >= before+writes })
}

// end waits until all have had their cycles, and returns the result.
func (w *world) end(c *callers) {
	w.t.Helper()
	close(c.stop)
	c.members.Wait()
	writes, stale, overlaps := c.guard.seen()
	w.t.Logf("%d writes, %d refused as stale, %d overlaps, %d errors", writes, stale, overlaps, c.failures.Load())
}

// exclusive fails the test if two holders were inside at once, or an old token was accepted.
func (w *world) exclusive(c *callers) {
	w.t.Helper()
	if _, stale, overlaps := c.guard.seen(); stale > 0 || overlaps > 0 {
		w.t.Errorf("%d stale tokens, %d overlaps", stale, overlaps)
	}
}

// alternate lets two processes take a lock in turn, and fails the test if wake-ups do not reach them. A process that gets a turn
// by a poll counts as one that hears nothing, until a message comes: so turns go on until both hear.
func (w *world) alternate(a, b *Mutex, turns int) {
	w.t.Helper()
	ctx := w.ctx()
	h := w.must(a.Lock(ctx))
	heard := func() bool { return a.locks.subscription.Hears() && b.locks.subscription.Hears() }
	for i := 0; i < turns || !heard(); i++ {
		if ctx.Err() != nil {
			w.t.Fatal("no wake-up reaches one of the processes")
		}
		next := []*Mutex{b, a}[i%2]
		admitted := make(chan *Hold, 1)
		go func() {
			got, err := next.Lock(ctx)
			if err != nil {
				w.t.Error(err)
			}
			admitted <- got
		}()
		w.soon("it waits in the queue", func() bool { return w.waits(next) })
		w.ok(h.Unlock(ctx))
		if h = <-admitted; h == nil {
			w.t.FailNow()
		}
	}
	w.ok(h.Unlock(ctx))
}

// waits reports whether the process of a mutex is in the server's queue.
func (w *world) waits(m *Mutex) bool {
	_, err := m.locks.server.Client.ZScore(w.ctx(), m.queueKey, m.locks.process).Result()
	return err == nil
}

// flushScripts makes a server forget all scripts.
func flushScripts(ctx context.Context, rdb *redis.Client) error { return rdb.ScriptFlush(ctx).Err() }
