package locking

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/servertest"
)

// refuse lets some of the servers refuse everything; an empty refusal ends that.
func (f *fleet) refuse(refusal string, servers ...int) {
	for _, i := range servers {
		f.servers[i].SetError(refusal)
	}
}

// eachRefusal runs a test on servers in virtual time for each refusal.
func eachRefusal(t *testing.T, servers int, test func(t *testing.T, f *fleet, refusal string)) {
	t.Parallel()
	for _, refusal := range refusals {
		code, _, _ := strings.Cut(refusal, " ")
		t.Run(code, func(t *testing.T) {
			fleetOf(t, servers, func(t *testing.T, f *fleet) { test(t, f, refusal) })
		})
	}
}

// A minority that refuses is as good as one that is down: nobody notices it.
func TestRedLockIgnoresAMinorityThatRefuses(t *testing.T) {
	eachRefusal(t, 3, func(t *testing.T, f *fleet, refusal string) {
		const lease = 3 * time.Second
		ctx := f.ctx()
		mine, rival := f.red(WatchdogLease(lease)), f.red(WatchdogLease(lease))
		held := f.must(mine.Lock(ctx))
		f.refuse(refusal, 0)
		f.busy(ctx, rival)
		inner := f.must(mine.Lock(held.Context()))
		token, err := held.TokenAbove(ctx, held.Token())
		f.ok(err)
		f.ok(inner.Unlock(ctx))
		time.Sleep(2 * lease)
		if cause := context.Cause(held.Context()); cause != nil {
			t.Errorf("the hold has ended: %v", cause)
		}
		f.ok(held.Unlock(ctx))
		next := f.must(rival.Lock(ctx))
		if next.Token() <= token {
			t.Errorf("token %d after %d", next.Token(), token)
		}
		f.ok(next.Unlock(ctx))
		f.refuse("", 0)
		f.ok(f.must(mine.Lock(ctx)).Unlock(ctx))
		f.free(mine, 0, 1, 2)
	})
}

// A majority that refuses for a moment of virtual time costs no lock, answers nobody wrongly, and leaves nothing behind.
func TestRedLockSurvivesAMajorityThatRefusesForAMoment(t *testing.T) {
	eachRefusal(t, 3, func(t *testing.T, f *fleet, refusal string) {
		const lease = 9 * time.Second
		ctx := f.ctx()
		mine, rival := f.red(WatchdogLease(lease)), f.red()
		free, given := RedLock(f.name+"free", rival.locks...), RedLock(f.name+"given", mine.locks...)
		held, gift := f.must(mine.Lock(ctx)), f.must(given.Lock(ctx))
		f.refuse(refusal, 0, 1)
		_, err := free.TryLock(ctx)
		f.unknown("try", err)
		_, err = free.Lock(ctx, Wait(300*time.Millisecond))
		f.unknown("lock", err)
		_, err = mine.Lock(held.Context(), Wait(300*time.Millisecond))
		f.unknown("re-entry", err)
		_, err = held.TokenAbove(ctx, held.Token())
		f.unknown("token", err)
		f.unknown("unlock", gift.Unlock(ctx))
		f.refuse("", 0, 1)
		time.Sleep(lease)
		if cause := context.Cause(held.Context()); cause != nil || held.Count() != 1 {
			t.Errorf("%d holds: %v", held.Count(), cause)
		}
		f.busy(ctx, rival)
		for _, r := range []*Red{free, RedLock(f.name+"given", rival.locks...)} {
			back := time.Now()
			f.ok(f.must(r.Lock(ctx)).Unlock(ctx))
			if took := time.Since(back); took > time.Second {
				t.Errorf("%s is free after %s", r.Name(), took)
			}
			f.free(r, 0, 1, 2)
		}
		f.ok(held.Unlock(ctx))
		f.free(mine, 0, 1, 2)
	})
}

// A majority that refuses for longer than the lease takes the lock from its holder, who learns of it in time: in virtual time.
func TestRedLockIsLostInTimeWhenAMajorityRefuses(t *testing.T) {
	eachRefusal(t, 3, func(t *testing.T, f *fleet, refusal string) {
		const lease = time.Second
		ctx := f.ctx()
		mine, rival := f.red(WatchdogLease(lease)), f.red()
		held := f.must(mine.Lock(ctx))
		start := time.Now()
		f.refuse(refusal, 0, 1)
		<-held.Context().Done()
		if took := time.Since(start); took > lease || !errors.Is(context.Cause(held.Context()), ErrLost) {
			t.Errorf("after %s: %v", took, context.Cause(held.Context()))
		}
		time.Sleep(lease)
		f.refuse("", 0, 1)
		next := f.must(rival.Lock(ctx))
		if next.Token() <= held.Token() {
			t.Errorf("token %d after %d", next.Token(), held.Token())
		}
		if err := held.Unlock(ctx); !errors.Is(err, ErrLost) {
			t.Errorf("unlock of what is lost: got %v, want ErrLost", err)
		}
		f.ok(next.Context().Err())
		f.ok(next.Unlock(ctx))
		f.free(mine, 0, 1, 2)
	})
}

// A MultiLock over two servers of which the second refuses is not taken, and the first is free at once. A held lock lives
// through a moment of refusals, and one that was given back meanwhile is free as soon as the server is back: in virtual time.
func TestMultiLockIsNotTakenWhenAServerRefuses(t *testing.T) {
	eachRefusal(t, 2, func(t *testing.T, f *fleet, refusal string) {
		const lease = 9 * time.Second
		ctx := f.ctx()
		of := func(nodes []*Locks, suffix string) *Multi {
			return MultiLock(nodes[0].Mutex(f.name+suffix), nodes[1].FairMutex(f.name+suffix), nodes[1].RWMutex(f.name+suffix).Writer())
		}
		mine, rivals := f.locks(WatchdogLease(lease)), f.locks()
		held, gift := f.must(of(mine, "held").Lock(ctx)), f.must(of(mine, "given").Lock(ctx))
		for i := range 2 {
			f.refuse(refusal, i)
			_, err := of(rivals, "free").TryLock(ctx)
			f.unknown("try", err)
			_, err = of(rivals, "free").Lock(ctx, Wait(300*time.Millisecond))
			f.unknown("lock", err)
			_, err = of(rivals, "free").Lock(ctx, Wait(300*time.Millisecond), Lease(lease))
			f.unknown("lock with a fixed lease", err)
			_, err = of(mine, "held").Lock(held.Context(), Wait(300*time.Millisecond))
			f.unknown("re-entry", err)
			if err := gift.Unlock(ctx); i == 0 {
				f.unknown("unlock", err)
			}
			synctest.Wait()
			other := 1 - i
			for _, l := range []offered{rivals[other].Mutex(f.name + "free"), rivals[other].FairMutex(f.name + "free"), rivals[other].RWMutex(f.name + "free").Writer()} {
				f.ok(f.must(l.TryLock(ctx)).Unlock(ctx))
			}
			f.refuse("", i)
			time.Sleep(lease)
			if cause := context.Cause(held.Context()); cause != nil || held.Count() != 1 {
				t.Errorf("%d holds: %v", held.Count(), cause)
			}
		}
		for _, suffix := range []string{"free", "given"} {
			back := time.Now()
			f.ok(f.must(of(rivals, suffix).Lock(ctx)).Unlock(ctx))
			if took := time.Since(back); took > 100*time.Millisecond {
				t.Errorf("%s is free after %s", suffix, took)
			}
		}
		f.ok(held.Unlock(ctx))
	})
}

// A Redis that loads its data after a restart refuses everything for seconds. Locks that it remembers are kept and renewed,
// those that it has forgotten are lost, and everybody else gets an error or waits on.
func TestLoadingRedisKeepsTheLocksThatItRemembers(t *testing.T) {
	t.Parallel()
	// It loads for minutes, unless it is told to go on: each key takes 50 ms, and is large enough that commands are read after it.
	server, err := servertest.StartRedis(t.Context(), "--rdbcompression", "no", "--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, addr: server.Addr(), name: t.Name()}
	ctx, rdb := w.ctx(), w.client()
	w.ok(rdb.Eval(ctx, "for i = 1, 4000 do redis.call('SET', 'ballast' .. i, string.rep('x', 1100)) end return 1", nil).Err())
	kinds := exclusiveKinds()
	kinds["read"] = func(l *Locks, name string) offered { return l.RWMutex(name).Reader() }
	held, forgotten := make(map[string]*Hold), make(map[string]*Hold)
	processes := make(map[string]*Locks)
	for kind, lock := range kinds {
		processes[kind] = w.locks(WatchdogLease(time.Hour)) // the server renews nothing while it loads
		held[kind] = w.must(lock(processes[kind], w.name+kind).Lock(ctx))
	}
	w.ok(rdb.Save(ctx).Err())
	for kind, lock := range kinds {
		forgotten[kind] = w.must(lock(processes[kind], w.name+kind+"forgotten").Lock(ctx))
	}
	w.ok(server.Kill())
	ready := make(chan error, 1)
	go func() { ready <- server.Restart(ctx) }()
	loads := func() bool {
		err := rdb.Get(ctx, "ballast1").Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	}
	w.soon("it loads", loads)
	for kind, lock := range kinds {
		_, err := lock(w.locks(), w.name+kind+"free").TryLock(ctx, Wait(100*time.Millisecond))
		w.unknown(kind+" try", err)
		_, err = lock(processes[kind], w.name+kind).Lock(held[kind].Context(), Wait(100*time.Millisecond))
		w.unknown(kind+" re-entry", err)
		processes[kind].renewDue(time.Second)
		w.ok(held[kind].Context().Err())
		w.ok(forgotten[kind].Context().Err()) // nobody knows yet
	}
	if !loads() {
		t.Fatal("it was loaded too early")
	}
	w.ok(rdb.ConfigSet(ctx, "key-load-delay", "0").Err())
	w.ok(<-ready)
	w.soon("it has loaded", func() bool { return rdb.Get(ctx, "ballast1").Err() == nil })
	for kind, lock := range kinds {
		w.renewed(processes[kind])
		w.ok(held[kind].Context().Err())
		if cause := context.Cause(forgotten[kind].Context()); !errors.Is(cause, ErrLost) {
			t.Errorf("%s: what was forgotten ended with %v", kind, cause)
		}
		before := held[kind].Token()
		w.ok(held[kind].Unlock(ctx))
		for _, name := range []string{"", "free", "forgotten"} {
			next := w.must(lock(w.locks(), w.name+kind+name).Lock(ctx))
			if name == "" && next.Token() <= before {
				t.Errorf("%s: token %d after %d", kind, next.Token(), before)
			}
			w.ok(next.Unlock(ctx))
		}
	}
}
