package locking

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// allKeys returns all keys of a lock, with the bucket's clock.
func (a *lock) allKeys() []string {
	if f, ok := a.kind.(*fifo); ok {
		return append([]string{f.clock()}, f.keys...)
	}
	return []string{a.clock(), a.stateKey, a.queueKey}
}

// deadInLine puts waiters of a process that has died into the queues of a lock, as many as there are queues.
func (w *world) deadInLine(l *Locks, a *lock) {
	w.t.Helper()
	run := func(call scripts.Call) {
		w.t.Helper()
		_, err := l.server.Run(w.ctx(), time.Now().Add(policy.Release), nil, call, &scripts.Attempt{})
		w.ok(err)
	}
	f, ok := a.kind.(*fifo)
	if !ok {
		run(scripts.Acquire.NewCall(4, 5).With(a.clock(), a.tombstone(1), a.stateKey, a.queueKey, 1, 1000, "dead:owner:1", scripts.QueueEnter, 0))
		return
	}
	sides := []string{scripts.Write}
	if f.otherKey != "" {
		sides = append(sides, scripts.Read, scripts.Write)
	}
	for i, side := range sides {
		run(f.newCall(scripts.FifoAcquire, 1, 10).With("dead", 1, side, fmt.Sprint("dead:owner:", i), 1000, fmt.Sprint(i), scripts.QueueEnter, "",
			policy.WaiterLifeMS, policy.PollMS))
	}
}

// Keys of a lock vanish, by eviction or by hand, while a dead waiter is first in the queue. The other waiters enter as soon as
// they would beside any dead waiter, and ask seldom until then.
func TestWaitersEnterWhateverKeysVanish(t *testing.T) {
	const perSecond = 20
	longest := policy.WaiterLife + policy.Poll + policy.Poll/5
	for kind, of := range map[string]func(l *Locks, name string) *lock{
		"mutex": func(l *Locks, name string) *lock { return l.Mutex(name).self() },
		"fair":  func(l *Locks, name string) *lock { return l.FairMutex(name).self() },
		"write": func(l *Locks, name string) *lock { return l.RWMutex(name).Writer().self() },
		"read":  func(l *Locks, name string) *lock { return l.RWMutex(name).Reader().self() },
	} {
		for _, when := range []string{"held", "free"} {
			t.Run(kind+" "+when, func(t *testing.T) {
				virtual(t, func(w *world) {
					holder := w.locks()
					first, firstTap := w.tapped()
					second, secondTap := w.tapped()
					taps := []*tap{firstTap, secondTap}
					step, keys := 1, 0 // keys that exist
					if testing.Short() {
						step = 5
					}
					for subset := 0; subset == 0 || subset < 1<<keys; subset += step {
						name := fmt.Sprint(w.name, subset)
						a := of(holder, name)
						var exclusive Locker = a
						if kind == "read" {
							exclusive = holder.RWMutex(name).Writer()
						}
						h := w.must(exclusive.Lock(w.ctx()))
						w.deadInLine(holder, a)
						freed, got := make(chan time.Time, 2), make(chan time.Duration, 2)
						var waiting sync.WaitGroup
						for _, l := range []*Locks{first, second} {
							waiting.Go(func() {
								h := w.must(of(l, name).Lock(w.ctx()))
								entered := time.Now()
								got <- entered.Sub(<-freed)
								w.ok(h.Unlock(w.ctx()))
							})
						}
						time.Sleep(200 * time.Millisecond)
						if when == "free" {
							w.ok(h.Unlock(w.ctx()))
						}
						there := slices.DeleteFunc(a.allKeys(), func(key string) bool { return !w.memory.Exists(key) })
						keys = len(there)
						for i, key := range there {
							if subset&(1<<i) != 0 {
								w.memory.Del(key)
							}
						}
						if when == "held" {
							if err := h.Unlock(w.ctx()); err != nil && subset == 0 {
								t.Fatal(err)
							}
						}
						start, before := time.Now(), commands(taps)
						freed <- start
						freed <- start
						for range 2 {
							if took := <-got; took > longest {
								t.Errorf("keys %b: a waiter enters after %s, want %s", subset, took, longest)
							}
						}
						n, took := commands(taps)-before, time.Since(start).Seconds()
						if n > 2*(10+int(took*perSecond)) {
							t.Errorf("keys %b: %d commands in %.1f s", subset, n, took)
						}
						waiting.Wait()
					}
				})
			})
		}
	}
}
