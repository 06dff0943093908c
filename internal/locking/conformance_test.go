package locking

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/scripts"
)

// The assertions of well-known lock libraries' test suites, for every kind of lock: against a real Redis, and in
// virtual time if a lease or a wait ends.

// fullLock is what every kind offers, and the lock's process.
type fullLock struct {
	offered
	process *Locks
}

type offered interface {
	Locker
	Count(ctx context.Context) int
	Inspect(ctx context.Context) (State, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

// exclusiveKinds are the kinds that let one owner in at a time.
func exclusiveKinds() map[string]func(l *Locks, name string) offered {
	return map[string]func(l *Locks, name string) offered{
		"mutex": func(l *Locks, name string) offered { return l.Mutex(name) },
		"fair":  func(l *Locks, name string) offered { return l.FairMutex(name) },
		"write": func(l *Locks, name string) offered { return l.RWMutex(name).Writer() },
	}
}

// eachKind runs a test for each of them. open returns the same lock each time, in a new process.
func eachKind(t *testing.T, on place, test func(w *world, open func(opts ...Option) fullLock)) {
	t.Parallel()
	kinds := exclusiveKinds()
	if testing.Short() {
		kinds = map[string]func(*Locks, string) offered{"mutex": kinds["mutex"]}
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			on(t, func(w *world) {
				test(w, func(opts ...Option) fullLock {
					l := w.locks(opts...)
					return fullLock{kind(l, w.name), l}
				})
			})
		})
	}
}

// enterAll enters n times with each of the locks, and checks with a counter that is not atomic that no other holder was
// inside meanwhile.
func (w *world) enterAll(locks []fullLock, n int) {
	w.t.Helper()
	var inside, total int
	var all sync.WaitGroup
	for _, lock := range locks {
		all.Go(func() {
			for range n {
				h, err := lock.Lock(w.ctx())
				if err != nil {
					w.t.Error(err)
					return
				}
				inside++
				if inside != 1 {
					w.t.Errorf("%d are inside", inside)
				}
				total++
				inside--
				w.ok(h.Unlock(w.ctx()))
			}
		})
	}
	all.Wait()
	if total != len(locks)*n {
		w.t.Errorf("%d entries are %d", len(locks)*n, total)
	}
}

func TestSixteenClientsAllGetTheLock(t *testing.T) {
	eachKind(t, onRedis, func(w *world, open func(...Option) fullLock) {
		locks := make([]fullLock, 16)
		for i := range locks {
			locks[i] = open()
		}
		w.enterAll(locks, 20)
	})
}

func TestOneOfAThousandTriesWins(t *testing.T) {
	busytest.Slow(t)
	eachKind(t, onRedis, func(w *world, open func(...Option) fullLock) {
		locks := []fullLock{open(), open(), open(), open()}
		var winners atomic.Int64
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range 1000 {
			all.Go(func() {
				<-begin
				_, err := locks[i%len(locks)].TryLock(w.ctx())
				if err == nil {
					winners.Add(1)
				} else if !errors.Is(err, ErrBusy) {
					w.t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
		if n := winners.Load(); n != 1 {
			w.t.Errorf("%d won", n)
		}
	})
}

// The count goes 0, 1, 2, 1, 0; others find the lock held until the last unlock, and cannot enter before.
func TestHoldCountFollowsLockAndUnlock(t *testing.T) {
	eachKind(t, onRedis, func(w *world, open func(...Option) fullLock) {
		mine, theirs, begin := open(), open(), time.Time{}
		ctx := WithOwner(w.ctx())
		stranger := WithOwner(w.ctx())
		expect := func(n int) {
			w.t.Helper()
			if mine.Count(ctx) != n || mine.Count(stranger) != 0 || theirs.Count(ctx) != 0 {
				w.t.Errorf("counts %d, %d, %d; want %d, 0, 0", mine.Count(ctx), mine.Count(stranger), theirs.Count(ctx), n)
			}
			s, err := theirs.Inspect(w.ctx())
			w.ok(err)
			if s.Held() != (n > 0) {
				w.t.Errorf("with %d holds others see %+v", n, s)
			}
			if n > 0 {
				w.leaves(s.Remaining, defaultWatchdogLease, begin)
			}
			h, err := theirs.TryLock(w.ctx())
			if n > 0 && !errors.Is(err, ErrBusy) {
				w.t.Errorf("with %d holds others try: %v", n, err)
			}
			if h != nil {
				w.ok(h.Unlock(w.ctx()))
			}
		}
		for range 2 {
			expect(0)
			begin = time.Now()
			outer := w.must(mine.Lock(ctx))
			expect(1)
			inner := w.must(mine.TryLock(ctx))
			if outer.Token() != inner.Token() || outer.Count() != 2 {
				w.t.Errorf("tokens %d and %d, count %d", outer.Token(), inner.Token(), outer.Count())
			}
			expect(2)
			w.ok(outer.Unlock(ctx)) // in any order
			expect(1)
			w.ok(inner.Unlock(ctx))
		}
	})
}

// A lease of two seconds lets a waiter in when it is over, in virtual time.
func TestLeaseOfTwoSecondsLetsAWaiterInThen(t *testing.T) {
	eachKind(t, virtual, func(w *world, open func(...Option) fullLock) {
		start := time.Now()
		stale := w.must(open().Lock(w.ctx(), Lease(2*time.Second)))
		next := w.must(open().Lock(w.ctx()))
		if took := time.Since(start); took < 1990*time.Millisecond || took > 3500*time.Millisecond {
			w.t.Errorf("the waiter entered after %s", took)
		}
		if next.Token() <= stale.Token() {
			w.t.Errorf("token %d after %d", next.Token(), stale.Token())
		}
		if !errors.Is(context.Cause(stale.Context()), ErrLost) {
			w.t.Errorf("the stale hold ended with %v", context.Cause(stale.Context()))
		}
		if err := stale.Unlock(w.ctx()); !errors.Is(err, ErrLost) {
			w.t.Errorf("the stale owner unlocks: got %v, want ErrLost", err)
		}
		if s, err := open().Inspect(w.ctx()); err != nil || !s.Held() {
			w.t.Errorf("it freed the next one's lock: %+v, %v", s, err)
		}
		w.ok(next.Unlock(w.ctx()))
	})
}

// A wait takes as long as it was said, in virtual time.
func TestWaitTakesAsLongAsSaid(t *testing.T) {
	eachKind(t, virtual, func(w *world, open func(...Option) fullLock) {
		h := w.must(open().Lock(w.ctx()))
		start := time.Now()
		_, err := open().Lock(w.ctx(), Wait(3*time.Second))
		if took := time.Since(start); !errors.Is(err, ErrBusy) || took < 3*time.Second || took > 4*time.Second {
			w.t.Errorf("%v after %s", err, took)
		}
		w.ok(h.Unlock(w.ctx()))
	})
}

// The lock of a process that died is held for at most a lease, in virtual time.
func TestLockOfAClosedProcessExpires(t *testing.T) {
	eachKind(t, virtual, func(w *world, open func(...Option) fullLock) {
		lock := open(WatchdogLease(time.Second))
		h := w.must(lock.Lock(w.ctx()))
		w.ok(lock.process.Close()) // nothing renews it, nothing releases it
		start := time.Now()
		w.must(open().Lock(w.ctx()))
		if took := time.Since(start); took > 2500*time.Millisecond {
			w.t.Errorf("the lock was held for %s, want 2.5 s at most", took)
		}
		if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) {
			w.t.Errorf("the hold ended with %v, want ErrLost", cause)
		}
		if err := h.Unlock(w.ctx()); !errors.Is(err, ErrClosed) {
			w.t.Errorf("Unlock after Close says %v, want ErrClosed", err)
		}
	})
}

// A try whose caller leaves leaves no hold that is renewed.
func TestInterruptedTryLeavesNothing(t *testing.T) {
	eachKind(t, virtual, func(w *world, open func(...Option) fullLock) {
		lock := open(WatchdogLease(300 * time.Millisecond))
		for i := range 50 {
			ctx, cancel := context.WithCancel(w.ctx())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if h, err := lock.TryLock(ctx); err == nil {
					w.ok(h.Unlock(w.ctx()))
				}
			}()
			if i%2 == 0 {
				cancel()
			}
			<-ended
			cancel()
		}
		w.soon("the lock is free", func() bool {
			s, err := lock.Inspect(w.ctx())
			w.ok(err)
			return !s.Held()
		})
	})
}

// More names are locked than there are buckets: nothing is left but a clock for each bucket.
func TestThousandsOfCyclesOverDistinctNames(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	w, _ := private(t)
	rdb, l := w.client(), w.locks()
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			for j := range 3 * allBuckets / 10 {
				h := w.must(l.Mutex(fmt.Sprintf("%s/%d/%d", w.name, i, j)).Lock(w.ctx()))
				w.ok(h.Unlock(w.ctx()))
			}
		})
	}
	all.Wait()
	for _, key := range rdb.Keys(w.ctx(), "*").Val() {
		if !strings.HasSuffix(key, "}:"+roleClock) {
			t.Errorf("left behind: %s", key)
		}
	}
	if n := rdb.DBSize(w.ctx()).Val(); n > allBuckets {
		t.Errorf("%d keys", n)
	}
}

// After a thousand contended acquisitions over one subscription connection of each process, no subscription is left.
func TestThousandContendedAcquisitions(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	w, _ := private(t)
	rdb := w.client()
	const processes, callers, each = 5, 4, 50
	all := make([]*Locks, processes)
	for i := range all {
		all[i] = w.locks()
	}
	var wg sync.WaitGroup
	for _, l := range all {
		for i := range callers {
			wg.Go(func() {
				for j := range each {
					w.ok(w.must(l.Mutex(fmt.Sprint(w.name, (i+j)%3)).Lock(w.ctx())).Unlock(w.ctx()))
				}
			})
		}
	}
	wg.Wait()
	subscribers, err := rdb.Do(w.ctx(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	w.ok(err)
	if n := strings.Count(subscribers, "\n"); n > processes {
		t.Errorf("%d subscription connections of %d processes", n, processes)
	}
	for _, l := range all {
		w.ok(l.Close())
	}
	w.soon("nobody subscribes", func() bool { return len(rdb.PubSubChannels(w.ctx(), "*").Val()) == 0 })
	for _, key := range rdb.Keys(w.ctx(), "*").Val() {
		if !strings.HasSuffix(key, "}:"+roleClock) {
			t.Errorf("left behind: %s", key)
		}
	}
}

// MONITOR shows one contended cycle: a try, the subscription, a try that queues, the release that wakes, a try
// that gets the lock, a release. Where the machine is busy, the waiter polls in between.
func TestTraceOfAContendedCycle(t *testing.T) {
	t.Parallel()
	w, _ := private(t)
	ctx := w.ctx()
	holder, waiter := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
	waiter.locks.subscription.Silence = busytest.Patience // it subscribes once
	for _, m := range []*Mutex{holder, waiter} {
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx)) // the server knows the scripts
	}
	h := w.must(holder.Lock(ctx))
	trace := w.monitor()
	got := make(chan *Hold, 1)
	go func() { got <- w.must(waiter.Lock(ctx)) }()
	shown := func() []string { // from the last try before the subscription on: until that works the waiter polls
		all := trace()
		return slices.Compact(all[max(0, slices.Index(all, "subscribe")-1):])
	}
	w.soon("it queues as one that is woken", func() bool { return len(shown()) >= 3 && w.queued(w.client(), waiter) == 1 })
	w.ok(h.Unlock(ctx))
	w.ok((<-got).Unlock(ctx))
	want := []string{"acquire", "subscribe", "acquire", "release", "acquire", "release"}
	w.soon("the trace is whole", func() bool { return len(shown()) >= len(want) })
	if got := shown(); !slices.Equal(got, want) {
		t.Errorf("the trace is %q, want %q", got, want)
	}
}

// monitor records what clients send, and returns a function for our verbs so far.
func (w *world) monitor() func() []string {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	w.ok(err)
	var mu sync.Mutex
	var verbs []string
	var reading sync.WaitGroup
	ready := make(chan struct{})
	reading.Go(func() {
		lines := bufio.NewScanner(conn)
		lines.Scan() // +OK
		close(ready)
		for lines.Scan() {
			if verb := verbOf(lines.Text()); verb != "" {
				mu.Lock()
				verbs = append(verbs, verb)
				mu.Unlock()
			}
		}
	})
	w.t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	_, err = fmt.Fprint(conn, "MONITOR\r\n")
	w.ok(err)
	<-ready
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(verbs)
	}
}

// verbOf returns which of our verbs a line of MONITOR is; lines sent by scripts have "lua".
func verbOf(line string) string {
	_, command, _ := strings.Cut(line, "] ")
	if strings.Contains(line, " lua]") {
		return ""
	}
	for verb, script := range map[string]*scripts.Script{"acquire": scripts.Acquire, "release": scripts.Release} {
		if strings.Contains(command, script.Hash.(string)) {
			return verb
		}
	}
	if strings.HasPrefix(strings.ToLower(command), `"subscribe"`) {
		return "subscribe"
	}
	return ""
}
