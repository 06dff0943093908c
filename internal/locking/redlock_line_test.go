package locking

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// commands counts what a process has sent to all its servers.
func commands(taps []*tap) (n int) {
	for _, p := range taps {
		p.mu.Lock()
		n += len(p.seen)
		for _, pipelined := range p.pipe {
			n += pipelined
		}
		p.mu.Unlock()
	}
	return n
}

// While another owner has a RedLock, those who wait ask seldom: on whichever nodes it is, however many they are, and also if a node
// is silent or gone. Each process has one waiter, or all are in one.
func TestRedLockWaitersAskSeldom(t *testing.T) {
	const perSecond, seconds = 10, 10
	for what, c := range map[string]struct {
		nodes, free int // how many nodes the holder has not
		waiters     int
		together    bool
		fail        func(m *memory)
	}{
		"all of 3 nodes":              {nodes: 3, waiters: 1},
		"all of 5 nodes":              {nodes: 5, waiters: 1},
		"2 of 3 nodes":                {nodes: 3, free: 1, waiters: 1},
		"3 of 5 nodes":                {nodes: 5, free: 2, waiters: 1},
		"all of 3, 8 processes":       {nodes: 3, waiters: 8},
		"2 of 3, 8 processes":         {nodes: 3, free: 1, waiters: 8},
		"all of 3, 20 callers":        {nodes: 3, waiters: 20, together: true},
		"2 of 3, one is gone":         {nodes: 3, free: 1, waiters: 1, fail: (*memory).Kill},
		"2 of 3, one is silent":       {nodes: 3, free: 1, waiters: 1, fail: (*memory).Pause},
		"2 of 3, one refuses pub/sub": {nodes: 3, free: 1, waiters: 1, fail: (*memory).refuseListeners},
	} {
		t.Run(what, func(t *testing.T) {
			fleetOf(t, c.nodes, func(t *testing.T, f *fleet) {
				ctx := f.ctx()
				for _, l := range f.locks()[:c.nodes-c.free] {
					f.must(l.Mutex(f.name).Lock(ctx, Lease(time.Hour)))
				}
				if c.fail != nil {
					c.fail(f.servers[c.nodes-1])
				}
				var all sync.WaitGroup
				var taps []*tap
				begin := time.Now()
				processes := make([]*Red, c.waiters)
				for i := range processes {
					if processes[i] = processes[0]; i == 0 || !c.together {
						r, own := f.tappedRedsUp()
						processes[i], taps = r, append(taps, own...)
					}
					all.Go(func() {
						if _, err := processes[i].Lock(ctx, Wait(seconds*time.Second)); !errors.Is(err, ErrBusy) {
							t.Errorf("a waiter gets %v, want ErrBusy", err)
						}
					})
				}
				all.Wait()
				took, n := time.Since(begin).Seconds(), commands(taps)
				if most := int(took*perSecond) * c.waiters; n > most {
					t.Errorf("%d waiters send %d commands in %.1f s, want %d at most", c.waiters, n, took, most)
				}
				if c.fail != nil {
					f.servers[c.nodes-1].Resume()
					f.servers[c.nodes-1].Restart()
					time.Sleep(2 * time.Second)
				}
				t.Logf(what+": %.1f commands a second for each waiter", float64(n)/took/float64(c.waiters))
			})
		})
	}
}

// tappedRedsUp is tappedReds where some servers may be down.
func (f *fleet) tappedRedsUp() (*Red, []*tap) {
	var all []*Locks
	var taps []*tap
	for i := range f.size() {
		rdb, p := f.node(i, keepsDeadline), &tap{}
		rdb.AddHook(p)
		all, taps = append(all, f.locksOn(rdb)), append(taps, p)
	}
	return RedLock(f.name, all...), taps
}

// A waiter has a RedLock two round trips after its release: in one it asks all nodes, in the other they get one token.
func TestRedLockWaiterEntersTwoRoundTripsAfterTheRelease(t *testing.T) {
	const trip = 20 * time.Millisecond
	for _, free := range []int{0, 1} { // how many nodes the holder has not
		for _, waiters := range []int{1, 3} {
			t.Run(fmt.Sprint(free, " free, ", waiters), func(t *testing.T) {
				t.Parallel()
				busytest.Virtual(t, func(t *testing.T) {
					f := &fleet{world: &world{t: t, name: t.Name(), virtual: true}}
					for i := range 3 {
						f.servers = append(f.servers, newMemory(t, trip+time.Duration(i)*near))
					}
					ctx, holder := f.ctx(), f.locks()
					f.ok(f.must(f.red().Lock(ctx)).Unlock(ctx)) // the servers know the scripts
					for range 4 {
						var held []*Hold
						for _, l := range holder[:3-free] {
							held = append(held, f.must(l.Mutex(f.name).Lock(ctx)))
						}
						type grantedAt struct {
							hold *Hold
							at   time.Time
						}
						got := make(chan grantedAt, waiters)
						for range waiters {
							r := f.red()
							go func() {
								h := f.must(r.Lock(ctx))
								got <- grantedAt{h, time.Now()}
							}()
						}
						time.Sleep(3300 * time.Millisecond)
						released := time.Now().Add(trip + 2*near) // by the last node
						f.ok(unlockAll(ctx, held, false))
						for range waiters {
							next := <-got
							if took := next.at.Sub(released); took > 2*trip+10*near {
								t.Errorf("the next waiter has it after %s, want %s", took, 2*trip)
							}
							released = time.Now().Add(trip + 2*near)
							f.ok(next.hold.Unlock(ctx))
						}
					}
				})
			})
		}
	}
}
