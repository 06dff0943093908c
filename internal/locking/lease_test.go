package locking

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// mortal makes a client of a process that can die: then nothing of it reaches a server any more.
func mortal(dead *atomic.Bool) func(*redis.Options) {
	return func(o *redis.Options) {
		keepsDeadline(o)
		dial := o.Dialer
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dead.Load() {
				return nil, errors.New("the process is dead")
			}
			conn, err := dial(ctx, network, addr)
			return &mortalConn{conn, dead}, err
		}
	}
}

type mortalConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c *mortalConn) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// heldKeys returns the keys of locks that are held, or reserved.
func (f *fleet) heldKeys() (keys []string) {
	for _, server := range f.servers {
		for _, key := range server.Keys() {
			_, role, _ := strings.Cut(key, "}:")
			role, _, _ = strings.Cut(role, ":")
			if slices.Contains([]string{roleMutex, roleFair, roleReadWrite, roleReadWrite + partReaders, roleReadWrite + partTokens}, role) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// After its owner's death a lock of any kind, with any lease, is free at the end of the lease that the caller asked for; also if
// the caller had to wait for it, or for a part of it, or had it before.
func TestLockIsFreeAtTheEndOfItsLeaseAfterItsOwnersDeath(t *testing.T) {
	leases := map[string]struct {
		options []LockOption
		longest time.Duration
	}{
		"of 100 ms":             {[]LockOption{Lease(100 * time.Millisecond)}, 100 * time.Millisecond},
		"of 1 s":                {[]LockOption{Lease(time.Second)}, time.Second},
		"above the watchdog's":  {[]LockOption{Lease(time.Minute)}, time.Minute},
		"that is renewed":       {nil, defaultWatchdogLease},
		"of 1 s, with a bound":  {[]LockOption{Lease(time.Second), Wait(time.Minute)}, time.Second},
		"renewed, with a bound": {[]LockOption{Wait(time.Minute)}, defaultWatchdogLease},
	}
	rivals := map[string]func(on []*Locks, name string) Locker{
		"nobody":            nil,
		"a mutex":           func(on []*Locks, name string) Locker { return on[0].Mutex(name) },
		"a mutex elsewhere": func(on []*Locks, name string) Locker { return on[1].Mutex(name) },
		"a fair mutex":      func(on []*Locks, name string) Locker { return on[0].FairMutex(name) },
		"a writer":          func(on []*Locks, name string) Locker { return on[0].RWMutex(name).Writer() },
		"a writer elsewhere": func(on []*Locks, name string) Locker {
			return on[2].RWMutex(name).Writer()
		},
	}
	for what, lease := range leases {
		for whom, rival := range rivals {
			t.Run("lease "+what+", waits for "+whom, func(t *testing.T) {
				fleetOf(t, 3, func(t *testing.T, f *fleet) {
					for kind, lock := range everyKind(f.name) {
						others := f.locks()
						var waiting sync.WaitGroup
						inTheWay := make(chan struct{})
						if rival != nil {
							held := f.must(rival(others, f.name).Lock(t.Context()))
							waiting.Go(func() {
								select {
								case <-time.After(700 * time.Millisecond):
								case <-inTheWay: // it is not
								}
								f.ok(held.Unlock(t.Context()))
							})
						}
						var dead atomic.Bool
						all := make([]*Locks, f.size())
						for i := range all {
							all[i] = f.locksOn(f.node(i, mortal(&dead)))
						}
						h := f.must(lock(all).Lock(t.Context(), lease.options...))
						granted, left := time.Now(), h.Remaining()
						dead.Store(true)
						close(inTheWay)
						waiting.Wait()
						if least := trust(lease.longest) - lease.longest/10 - 5*time.Millisecond; left < least {
							t.Errorf("%s: %s are left of the lease, want %s", kind, left, least)
						}
						time.Sleep(time.Until(granted.Add(lease.longest * 9 / 10)))
						if len(f.heldKeys()) == 0 {
							t.Errorf("%s: free before the end of the lease", kind)
						}
						time.Sleep(time.Until(granted.Add(lease.longest + 5*time.Millisecond)))
						if keys := f.heldKeys(); len(keys) > 0 {
							t.Errorf("%s: still held after the lease: %q", kind, keys)
						}
						closeAll(all)
						closeAll(others)
						time.Sleep(2 * lease.longest)
						for _, server := range f.servers {
							server.FlushAll()
						}
					}
				})
			})
		}
	}
}

// A fixed lease that begins late does not shorten the lease of another hold, and a renewal that is late does not lengthen it.
func TestFixedLeaseBeginsOnce(t *testing.T) {
	const long, short = time.Minute, 10 * time.Second
	type step struct {
		purpose string
		lease   time.Duration
		says    int64
		left    time.Duration
	}
	for name, steps := range map[string][]step{
		"a late renewal": {
			{scripts.ForWaiting, long, scripts.Done, long},
			{scripts.ForBegin, short, scripts.Done, short},
			{scripts.ForWaiting, long, scripts.Begun, short},
			{scripts.ForBegin, short, scripts.Done, short},
		},
		"another hold before": {
			{scripts.ForJoining, long, scripts.Done, long},
			{scripts.ForBegin, short, scripts.Done, long},
			{scripts.ForBegin, 2 * long, scripts.Done, 2 * long},
		},
		"another hold after": {
			{scripts.ForBegin, short, scripts.Done, short},
			{scripts.ForHold, long, scripts.Done, long},
			{scripts.ForBegin, short, scripts.Done, long},
			{scripts.ForHold, short, scripts.Done, long},
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				l, rdb := w.locks(), w.client()
				m := l.RWMutex(w.name)
				w.must(m.Reader().Lock(w.ctx(), Lease(short))) // another reader is not touched
				for _, lock := range []Locker{l.Mutex(w.name), l.FairMutex(w.name), m.Reader()} {
					g := w.must(lock.Lock(w.ctx(), Lease(2*short))).one().grant
					for i, s := range steps {
						start := time.Now()
						call := g.renewal(s.lease, s.purpose)
						said, err := l.server.Run(w.ctx(), start.Add(policy.Release), nil, call, &scripts.Attempt{})
						if err != nil || said != s.says {
							w.t.Errorf("%T, step %d: the server says %v, %v; want %d", lock, i, said, err, s.says)
						}
						left := rdb.PTTL(w.ctx(), g.lock.stateKey).Val()
						if most := s.left + 50*time.Millisecond; left > most || !w.virtual && left < s.left/2 || w.virtual && left < s.left-50*time.Millisecond {
							w.t.Errorf("%T, step %d: %s are left, want %s", lock, i, left, s.left)
						}
					}
				}
			})
		})
	}
}
