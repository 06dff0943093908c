package locking

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// A guard is what a lock protects: it takes writes with tokens, and notices two writers at once.
type guard struct {
	t *testing.T

	mu       sync.Mutex
	last     int64
	writes   int
	stale    int
	inside   atomic.Int32
	overlaps atomic.Int32
}

// work is done under a hold. It reports whether the write was accepted.
func (g *guard) work(h *Hold, d time.Duration) bool {
	if g.inside.Add(1) > 1 {
		g.overlaps.Add(1)
	}
	defer g.inside.Add(-1)
	accepted := g.write(h.Token())
	time.Sleep(d)
	return accepted
}

// write accepts a token that is higher than every one before.
func (g *guard) write(token int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if token == g.last {
		g.t.Errorf("token %d was given twice", token)
	}
	if token <= g.last {
		g.stale++
		return false
	}
	g.last = token
	g.writes++
	return true
}

func (g *guard) seen() (writes, stale int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writes, g.stale
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
				h, err := m.Lock(ctx, Wait(2*time.Second))
				if err != nil {
					c.failures.Add(1)
				} else {
					done++
					c.guard.work(h, time.Millisecond)
					if h.Unlock(ctx) != nil {
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
	before, _ := c.guard.seen()
	w.soon(fmt.Sprintf("%d more writes", writes), func() bool { n, _ := c.guard.seen(); return n >= before+writes })
}

// end waits until all have had their cycles, and returns the result.
func (w *world) end(c *callers) {
	w.t.Helper()
	close(c.stop)
	c.members.Wait()
	writes, stale := c.guard.seen()
	w.t.Logf("%d writes, %d refused as stale, %d overlaps, %d errors", writes, stale, c.guard.overlaps.Load(), c.failures.Load())
}

// exclusive fails the test if two holders were inside at once, or an old token was accepted.
func (w *world) exclusive(c *callers) {
	w.t.Helper()
	if _, stale := c.guard.seen(); stale > 0 || c.guard.overlaps.Load() > 0 {
		w.t.Errorf("%d stale tokens, %d overlaps", stale, c.guard.overlaps.Load())
	}
}

// alternate lets two processes take a lock in turn, and fails the test if wake-ups do not reach them: then each turn
// takes as long as a poll.
func (w *world) alternate(a, b *Mutex, turns int) {
	w.t.Helper()
	ctx := w.ctx()
	h := w.must(a.Lock(ctx))
	start := time.Now()
	for i := range turns {
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
	if took := time.Since(start); took > time.Duration(turns)*policy.Poll/4 {
		w.t.Errorf("%d turns took %s", turns, took)
	}
}

// waits reports whether the process of a mutex is in the server's queue.
func (w *world) waits(m *Mutex) bool {
	_, err := m.locks.server.Client.ZScore(w.ctx(), m.queueKey, m.locks.process).Result()
	return err == nil
}

// flushScripts makes a server forget all scripts.
func flushScripts(ctx context.Context, rdb *redis.Client) error { return rdb.ScriptFlush(ctx).Err() }
