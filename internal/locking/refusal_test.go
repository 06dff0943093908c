package locking

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// refusals are what a Redis answers to any script while it cannot run it, or runs none.
var refusals = []string{
	"LOADING Redis is loading the dataset in memory",
	"READONLY You can't write against a read only replica.",
	"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"NOSCRIPT No matching script. Please use EVAL.",
	"CLUSTERDOWN The cluster is down",
	"MOVED 3999 127.0.0.1:1",
	"ASK 3999 127.0.0.1:1",
	"TRYAGAIN Multiple keys request during rehashing of slot",
	"OOM command not allowed when used memory > 'maxmemory'.",
	"NOREPLICAS Not enough good replicas to write.",
	"MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"ERR max number of clients reached",
}

// refusing runs a test for each kind and each refusal, in virtual time.
func refusing(t *testing.T, test func(w *world, open func(opts ...Option) fullLock, refusal string)) {
	for _, refusal := range refusals {
		code, _, _ := strings.Cut(refusal, " ")
		t.Run(code, func(t *testing.T) {
			eachKind(t, virtual, func(w *world, open func(opts ...Option) fullLock) { test(w, open, refusal) })
		})
	}
}

// unknown fails unless an error says that the outcome is not known: nobody was in the way, and nothing is lost.
func (w *world) unknown(what string, err error) {
	w.t.Helper()
	if err == nil || errors.Is(err, ErrBusy) || errors.Is(err, ErrLost) || errors.Is(err, ErrClosed) {
		w.t.Errorf("%s while the server refuses: %v", what, err)
	}
}

// A server that refuses everything for a moment of virtual time costs no lock, and answers nobody wrongly.
func TestRefusalsForAMomentCostNoLock(t *testing.T) {
	refusing(t, func(w *world, open func(opts ...Option) fullLock, refusal string) {
		const lease = 9 * time.Second
		ctx := w.ctx()
		mine, rival, third := open(WatchdogLease(lease)), open(), open()
		held := w.must(mine.Lock(ctx))
		given := w.must(open(WatchdogLease(lease)).process.Mutex(w.name + "given").Lock(ctx))
		next := make(chan error, 1)
		go func() {
			h, err := rival.Lock(ctx)
			if err == nil {
				err = h.Unlock(ctx)
			}
			next <- err
		}()
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		w.memory.SetError(refusal)
		_, err := third.TryLock(ctx)
		w.unknown("try", err)
		_, err = third.Lock(ctx, Wait(300*time.Millisecond))
		w.unknown("lock", err)
		_, err = mine.Lock(held.Context(), Wait(300*time.Millisecond))
		w.unknown("re-entry", err)
		_, err = held.TokenAbove(ctx, held.Token())
		w.unknown("token", err)
		_, err = third.Inspect(ctx)
		w.unknown("inspect", err)
		_, err = third.ForceUnlock(ctx)
		w.unknown("force", err)
		w.unknown("unlock", given.Unlock(ctx))
		w.ok(held.Context().Err())
		w.memory.SetError("")
		back := time.Now()
		time.Sleep(lease)
		w.ok(held.Context().Err())
		if held.Count() != 1 {
			w.t.Errorf("%d holds", held.Count())
		}
		again := w.must(third.process.Mutex(w.name + "given").Lock(ctx))
		if again.one().since.Sub(back) > lease+time.Second {
			w.t.Error("not given back")
		}
		w.ok(again.Unlock(ctx))
		w.ok(held.Unlock(ctx))
		if err := <-next; errors.Is(err, ErrBusy) || errors.Is(err, ErrLost) {
			w.t.Errorf("who waited: %v", err)
		}
		// The rival may still be in the server's queue, if the server refused to let it leave: then the lock is reserved for it
		// until its process has given it back.
		w.ok(w.must(third.Lock(ctx, Wait(time.Second))).Unlock(ctx))
		if state, err := third.Inspect(ctx); err != nil || state.Held() || state.Reserved {
			w.t.Errorf("in the end it is %+v, %v", state, err)
		}
	})
}

// A lock that is released while the server refuses is free as soon as the server is back, in virtual time, and not when its lease ends.
func TestReleaseDuringARefusalIsDoneAfterIt(t *testing.T) {
	refusing(t, func(w *world, open func(opts ...Option) fullLock, refusal string) {
		ctx := w.ctx()
		mine, rival := open(), open()
		held := w.must(mine.Lock(ctx))
		w.memory.SetError(refusal)
		w.unknown("unlock", held.Unlock(ctx))
		time.Sleep(3 * time.Second)
		w.memory.SetError("")
		back := time.Now()
		w.ok(w.must(rival.Lock(ctx)).Unlock(ctx))
		if took := time.Since(back); took > 3*time.Second {
			w.t.Errorf("free after %s", took)
		}
	})
}

// A server that refuses for longer than the lease takes the lock from its holder, who learns of it in time; after that the
// lock works at once. The test runs in virtual time.
func TestRefusalsForLongLoseTheLockInTime(t *testing.T) {
	refusing(t, func(w *world, open func(opts ...Option) fullLock, refusal string) {
		const lease = time.Second
		ctx := w.ctx()
		mine, rival := open(WatchdogLease(lease)), open()
		held := w.must(mine.Lock(ctx))
		w.memory.SetError(refusal)
		start := time.Now()
		<-held.Context().Done()
		if took := time.Since(start); took > lease || !errors.Is(context.Cause(held.Context()), ErrLost) {
			w.t.Errorf("after %s: %v", took, context.Cause(held.Context()))
		}
		time.Sleep(lease)
		w.memory.SetError("")
		back := time.Now()
		h := w.must(rival.Lock(ctx))
		if took := time.Since(back); took > time.Second {
			w.t.Errorf("it works after %s", took)
		}
		if h.Token() <= held.Token() {
			w.t.Errorf("token %d after %d", h.Token(), held.Token())
		}
		if err := held.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock of what is lost: got %v, want ErrLost", err)
		}
		w.ok(h.Context().Err())
		w.ok(h.Unlock(ctx))
	})
}

// The same of a real Redis, which finds out in the middle of a script that it must not write.
func TestRefusalsInTheMiddleOfAScriptCostNoLock(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	ctx, rdb := w.ctx(), w.client()
	set := func(name, value string) { w.ok(rdb.ConfigSet(ctx, name, value).Err()) }
	states := map[string]struct {
		begin, end func()
		releases   bool // what needs no memory goes on
	}{
		"OOM":        {func() { set("maxmemory", "1") }, func() { set("maxmemory", "0") }, true},
		"NOREPLICAS": {func() { set("min-replicas-to-write", "1") }, func() { set("min-replicas-to-write", "0") }, false},
		"READONLY":   {func() { w.ok(rdb.ReplicaOf(ctx, "127.0.0.1", "1").Err()) }, func() { w.ok(rdb.ReplicaOf(ctx, "no", "one").Err()) }, false},
		"MASTERDOWN": {
			func() {
				set("replica-serve-stale-data", "no")
				w.ok(rdb.ReplicaOf(ctx, "127.0.0.1", "1").Err())
			},
			func() { w.ok(rdb.ReplicaOf(ctx, "no", "one").Err()) },
			false,
		},
	}
	kinds := exclusiveKinds()
	kinds["read"] = func(l *Locks, name string) offered { return l.RWMutex(name).Reader() }
	for code, state := range states {
		for kind, lock := range kinds {
			mine, rival := lock(w.locks(), w.name+code+kind), lock(w.locks(), w.name+code+kind)
			free := lock(w.locks(), w.name+code+kind+"free")
			if kind == "read" { // another reader would not find out
				rival = w.locks().RWMutex(w.name + code + kind).Writer()
			}
			held := w.must(mine.Lock(ctx))
			state.begin()
			_, err := free.TryLock(ctx)
			w.unknown(code+" "+kind+" try", err)
			if state.releases { // a re-entry is a renewal
				w.ok(w.must(mine.Lock(held.Context())).Unlock(ctx))
				w.ok(held.Unlock(ctx))
			} else {
				_, err = mine.Lock(held.Context(), Wait(100*time.Millisecond))
				w.unknown(code+" "+kind+" re-entry", err)
				w.unknown(code+" "+kind+" unlock", held.Unlock(ctx))
			}
			state.end()
			for _, l := range []offered{free, rival} {
				w.ok(w.must(l.Lock(ctx)).Unlock(ctx))
				if s, err := l.Inspect(ctx); err != nil || s.Held() {
					t.Errorf("%s %s: in the end it is %+v, %v", code, kind, s, err)
				}
			}
		}
	}
}

// A refusal ends no wait, also if the caller's owner gets the lock in another goroutine: then the caller asks for a re-entry.
func TestRefusedReentryEndsNoWait(t *testing.T) {
	virtual(t, func(w *world) {
		for name, kind := range exclusiveKinds() {
			ctx := WithOwner(w.ctx())
			l, tap := w.tapped()
			rival := w.must(kind(w.locks(), w.name+name).Lock(w.ctx()))
			tap.on(scripts.Renew, func(_ redis.Cmder, next func() error) error {
				tap.on(nil, nil)
				w.memory.SetError("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
				defer w.memory.SetError("")
				return next()
			})
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					h, err := kind(l, w.name+name).Lock(ctx)
					if err != nil {
						w.t.Errorf("%s: %v", name, err)
						return
					}
					time.Sleep(time.Second)
					w.unlocks(0, h)
				})
			}
			time.Sleep(policy.Poll / 2)
			w.ok(rival.Unlock(ctx))
			both.Wait()
		}
	})
}
