package locking

import (
	"maps"
	"slices"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// A server is restored from a snapshot of a time when an owner held the lock. The owner has unlocked since, and another
// owner has had the lock: the first does not get it back with its old token. A reader may join the old phase until the
// old leases have run out.
func TestOlderSnapshotGivesNoLockBack(t *testing.T) {
	for kind, of := range map[string]func(l *Locks) Locker{
		"mutex": func(l *Locks) Locker { return l.Mutex(t.Name()) },
		"fair":  func(l *Locks) Locker { return l.FairMutex(t.Name()) },
		"write": func(l *Locks) Locker { return l.RWMutex(t.Name()).Writer() },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w, _ := private(t)
			rdb, owner := w.client(), WithOwner(w.ctx())
			mine, other := w.locks(), of(w.locks())
			first := w.must(of(mine).Lock(owner, Lease(time.Minute)))
			snapshot := make(map[string]string)
			for _, key := range rdb.Keys(owner, "*").Val() {
				snapshot[key] = rdb.Dump(owner, key).Val()
			}
			w.ok(first.Unlock(owner))
			later := w.must(other.Lock(w.ctx()))
			w.ok(later.Unlock(w.ctx()))
			w.ok(rdb.FlushAll(owner).Err())
			for _, key := range slices.Sorted(maps.Keys(snapshot)) {
				w.ok(rdb.Restore(owner, key, time.Second, snapshot[key]).Err())
			}
			again := w.must(of(mine).Lock(owner))
			if again.Token() <= later.Token() {
				t.Errorf("token %d after %d", again.Token(), later.Token())
			}
			w.ok(again.Unlock(owner))
		})
	}
}

// TokenAbove of a writer leaves none of its readers below its token, nor later ones.
func TestTokenAboveOfAWriterRaisesItsReaders(t *testing.T) {
	each(t, func(w *world) {
		ctx := WithOwner(w.ctx())
		l := w.locks()
		m := l.RWMutex(w.name)
		write := w.must(m.Writer().Lock(ctx))
		read := w.must(m.Reader().Lock(ctx))
		token, err := write.TokenAbove(ctx, read.Token()+1_000_000_000)
		w.ok(err)
		if read.Token() <= token {
			w.t.Errorf("the writer has %d, and reads with %d", token, read.Token())
		}
		if again := w.must(m.Reader().Lock(ctx)); again.Token() != read.Token() {
			w.t.Errorf("it reads again with %d", again.Token())
		}
		if !l.renewDue(busytest.Patience) || read.Context().Err() != nil || write.Context().Err() != nil {
			w.t.Error("it is not renewed")
		}
		w.ok(write.Unlock(ctx))
		next := w.must(m.Reader().Lock(w.ctx()))
		if next.Token() <= token {
			w.t.Errorf("the writer had %d, and the next one reads with %d", token, next.Token())
		}
		w.ok(next.Unlock(ctx))
		w.ok(read.Unlock(ctx))
	})
}

// One name in two groups is two locks, even if both groups are in one bucket.
func TestOneNameInTwoGroupsIsTwoLocks(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		if addressOf(w.name, []MutexOption{Group("tenant-6")}).bucket != addressOf(w.name, []MutexOption{Group("tenant-20")}).bucket {
			w.t.Fatal("they are not in one bucket")
		}
		for _, of := range []func(opts ...MutexOption) Locker{
			func(opts ...MutexOption) Locker { return l.Mutex(w.name, opts...) },
			func(opts ...MutexOption) Locker { return l.FairMutex(w.name, opts...) },
			func(opts ...MutexOption) Locker { return l.RWMutex(w.name, opts...).Writer() },
		} {
			one := w.must(of(Group("tenant-6")).TryLock(w.ctx()))
			other := w.must(of(Group("tenant-20")).TryLock(w.ctx()))
			alone := w.must(of().TryLock(w.ctx()))
			for _, h := range []*Hold{one, other, alone} {
				w.ok(h.Unlock(w.ctx()))
			}
		}
	})
}
