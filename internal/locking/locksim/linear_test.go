package locksim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/keyexpiry"
	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
	"inventory/internal/servertest"
)

// A diary is a history that several goroutines write.
type diary struct {
	mu      sync.Mutex
	history locksim.History
}

// note adds an operation. until is zero if it has no end.
func (d *diary) note(op locksim.Op, from, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.history.Add(op, from, until)
}

// A taken lock can be given back.
type taken struct {
	token int64
	lasts time.Time // until then at least, if it was lost
	give  func() error
}

// taking tries to take a lock for an owner, which may hold it already.
type taking func(owner string, inside *taken) (*taken, error)

// drive lets an owner take the lock again and again, and records the results.
func (d *diary) drive(owner string, random *rand.Rand, rounds int, take taking, pause func(*rand.Rand)) {
	for range rounds {
		outer := d.take(owner, nil, take)
		if outer == nil {
			pause(random)
			continue
		}
		if random.IntN(3) == 0 {
			if inner := d.take(owner, outer, take); inner != nil {
				pause(random)
				d.give(owner, inner)
			}
		}
		pause(random)
		d.give(owner, outer)
	}
}

func (d *diary) take(owner string, inside *taken, take taking) *taken {
	begin := time.Now()
	got, err := take(owner, inside)
	now := time.Now()
	switch {
	case err == nil:
		d.note(locksim.Op{Kind: locksim.OpLock, Owner: owner, Token: got.token}, begin, now)
		return got
	case errors.Is(err, locking.ErrBusy):
		d.note(locksim.Op{Kind: locksim.OpBusy, Owner: owner, Crowded: true}, begin, now)
	}
	return nil
}

func (d *diary) give(owner string, got *taken) {
	begin := time.Now()
	err := got.give()
	op := locksim.Op{Kind: locksim.OpUnlock, Owner: owner, Token: got.token}
	if err == nil {
		d.note(op, begin, time.Now())
		return
	}
	op.Kind = locksim.OpEnd
	if got.lasts.Before(begin) {
		begin = got.lasts
	}
	d.note(op, begin, time.Time{})
}

// openers are the kinds of lock with one holder at a time, each opened by its own process. The servers of a RedLock are
// databases of one server here.
func openers() map[string]func(nodes []*locking.Locks) locking.Locker {
	return map[string]func(nodes []*locking.Locks) locking.Locker{
		"mutex": func(nodes []*locking.Locks) locking.Locker { return nodes[0].Mutex("a") },
		"fair":  func(nodes []*locking.Locks) locking.Locker { return nodes[0].FairMutex("a") },
		"write": func(nodes []*locking.Locks) locking.Locker { return nodes[0].RWMutex("a").Writer() },
		"multi": func(nodes []*locking.Locks) locking.Locker {
			return locking.MultiLock(nodes[0].Mutex("b"), nodes[0].FairMutex("c"))
		},
		"red": func(nodes []*locking.Locks) locking.Locker { return locking.RedLock("a", nodes...) },
	}
}

// TestLinearizable compares what several processes see of one lock with the model, on real servers and in real time.
// Leases run out on some of them.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	for kind, open := range openers() {
		t.Run(kind+" on redis", func(t *testing.T) {
			t.Parallel()
			server, err := servertest.StartRedis(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			linearizable(t, server.Addr(), 0, open)
		})
		t.Run(kind+" on miniredis", func(t *testing.T) {
			t.Parallel()
			server := miniredis.RunT(t)
			t.Cleanup(keyexpiry.Start(server))
			linearizable(t, server.Addr(), keyexpiry.Early, open)
		})
	}
}

// linearizable tests one server, whose keys may expire early by that much. On a busy machine more calls overlap than the checker
// can put in order: then it plays a history half as long.
func linearizable(t *testing.T, addr string, early time.Duration, open func(nodes []*locking.Locks) locking.Locker) {
	rounds := 25
	if testing.Short() {
		rounds = 10
	}
	for ; rounds > 0; rounds /= 2 {
		seed := rand.Uint64()
		switch result, why := historyAt(t, addr, early, open, rounds, seed).Check(20 * time.Second); result {
		case porcupine.Ok:
			return
		case porcupine.Illegal:
			t.Fatalf("seed %d: the history is %s\n%s", seed, result, why)
		case porcupine.Unknown:
			t.Logf("a history of %d rounds cannot be put in order", rounds)
		}
	}
	t.Error("no history can be put in order")
}

// historyAt has owners in several processes take a lock so many times each, and returns what they have seen.
func historyAt(t *testing.T, addr string, early time.Duration, open func(nodes []*locking.Locks) locking.Locker, rounds int, seed uint64) *locksim.History {
	t.Helper()
	var notes diary
	var all sync.WaitGroup
	for process := range 3 {
		var nodes []*locking.Locks
		for node := range 3 {
			rdb := redis.NewClient(&redis.Options{
				Addr: addr, DB: node, ContextTimeoutEnabled: process > 0,
				DialTimeout: busytest.Patience, PoolTimeout: busytest.Patience, ReadTimeout: busytest.Patience,
				// Connections of go-redis that begin at the same time race for this mode, where a server does not know it.
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			})
			t.Cleanup(func() { _ = rdb.Close() })
			locks, err := locking.New(rdb, locking.WatchdogLease(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = locks.Close() })
			nodes = append(nodes, locks)
		}
		lock := open(nodes)
		for who := range 3 {
			owner := fmt.Sprintf("p%d/o%d", process, who)
			random := rand.New(rand.NewPCG(seed, uint64(process<<8+who)))
			all.Go(func() { notes.drive(owner, random, rounds, takeFrom(t, lock, early, random), rest) })
		}
	}
	all.Wait()
	return &notes.history
}

// takeFrom takes one of our locks for an owner, in one way or another.
func takeFrom(t *testing.T, mutex locking.Locker, early time.Duration, random *rand.Rand) taking {
	owner := locking.WithOwner(t.Context())
	return func(_ string, _ *taken) (*taken, error) {
		const (
			lease    = 15 * time.Millisecond
			patience = 2 * time.Second // on a busy machine a longer wait overlaps with more than the checker can put in order
		)
		lock, opts, short := mutex.Lock, []locking.LockOption{locking.Wait(patience)}, false
		switch random.IntN(6) {
		case 0:
			lock, opts = mutex.TryLock, nil
		case 1:
			opts = append(opts, locking.Wait(time.Duration(random.IntN(20))*time.Millisecond))
		case 2:
			short = true
			opts = append(opts, locking.Lease(lease)) // it may run out meanwhile
		}
		begin := time.Now()
		hold, err := lock(owner, opts...)
		if err != nil {
			return nil, err
		}
		lasts := time.Now() // a renewal that failed may have ended it at any time
		if short {
			lasts = begin.Add(lease - 2*time.Millisecond - early) // the server rounds to milliseconds
		}
		token := hold.Token()
		if parts := hold.Parts(); token == 0 { // the tokens of a MultiLock are in its parts
			token = parts[0].Token()
		}
		return &taken{
			token: token,
			give:  func() error { return hold.Unlock(context.Background()) },
			lasts: lasts,
		}, nil
	}
}

// rest holds a lock for a moment.
func rest(random *rand.Rand) { time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond) }

// brokenLock reads whether it is free, and takes it a moment later.
type brokenLock struct {
	mu     sync.Mutex
	holder string
	count  int
	token  int64
}

func (b *brokenLock) take(owner string, inside *taken) (*taken, error) {
	b.mu.Lock()
	free := b.count == 0 || inside != nil
	b.mu.Unlock()
	if !free {
		return nil, locking.ErrBusy
	}
	time.Sleep(100 * time.Microsecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	if inside == nil {
		b.holder, b.count = owner, 0
		b.token++
	}
	b.count++
	return &taken{token: b.token, give: func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.count--
		return nil
	}}, nil
}

func TestBrokenLockIsFound(t *testing.T) {
	var notes diary
	var broken brokenLock
	var all sync.WaitGroup
	for who := range 4 {
		random := rand.New(rand.NewPCG(1, uint64(who)))
		all.Go(func() { notes.drive(fmt.Sprint(who), random, 20, broken.take, rest) })
	}
	all.Wait()
	if result, _ := notes.history.Check(busytest.Patience); result != porcupine.Illegal {
		t.Errorf("the history of a broken lock is %s", result)
	}
}
