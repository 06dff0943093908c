package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/scripts"
)

// A diary is an Observer that records everything.
type diary struct {
	mu     sync.Mutex
	lines  []string
	polled []string
	warned []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Acquired(k Kind, _ time.Duration, contended bool) {
	d.note("acquired %s %t", k, contended)
}
func (d *diary) Failed(k Kind, _ time.Duration, r Reason) { d.note("failed %s %s", k, r) }
func (d *diary) Released(k Kind, _ time.Duration)         { d.note("released %s", k) }
func (d *diary) Lost(k Kind, _ time.Duration)             { d.note("lost %s", k) }
func (d *diary) Renewed(locks int, _ time.Duration, answered bool) {
	d.note("renewed %d %t", locks, answered)
}

func (d *diary) Warned(why error) {
	if !errors.Is(why, ErrSettings) {
		d.note("warned of something else")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.warned = append(d.warned, why.Error())
}

func (d *diary) Polling(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := ""
	if why != nil {
		text = why.Error()
	}
	d.polled = append(d.polled, text)
}

// polling returns all that was told about wake-ups: reasons, and empty when they came again.
func (d *diary) polling() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.polled)
}

// since returns what was recorded since the last call.
func (d *diary) since() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func TestObserverSeesWhatHappensToALock(t *testing.T) {
	each(t, func(w *world) {
		ctx, seen := w.ctx(), &diary{}
		l := w.locks(Observe(seen))
		m, rival := l.Mutex(w.name), w.locks().Mutex(w.name)
		expect := func(what string, lines ...string) {
			w.t.Helper()
			if got := seen.since(); !slices.Equal(got, lines) {
				w.t.Errorf("%s: %q, want %q", what, got, lines)
			}
		}
		h := w.must(m.Lock(ctx))
		w.ok(h.Unlock(ctx))
		w.ok(h.Unlock(ctx))
		expect("a cycle", "acquired mutex false", "released mutex")

		h = w.must(m.Lock(ctx))
		l.renewDue(busytest.Patience)
		_, err := m.ForceUnlock(ctx)
		w.ok(err)
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Error(err)
		}
		expect("a loss", "acquired mutex false", "renewed 1 true", "lost mutex")

		h = w.must(rival.Lock(ctx))
		if _, err := m.TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Error(err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := m.Lock(gone); !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
		expect("in vain", "failed mutex busy", "failed mutex ended")
		got := make(chan *Hold)
		go func() { got <- w.must(m.Lock(ctx)) }()
		w.soon("it is queued", func() bool { return w.queued(w.client(), m) == 1 })
		w.ok(h.Unlock(ctx))
		w.ok((<-got).Unlock(ctx))
		expect("a wait", "acquired mutex true", "released mutex")
		w.ok(l.Close())
		if _, err := m.Lock(ctx); !errors.Is(err, ErrClosed) {
			w.t.Error(err)
		}
	})
}

// An Observer learns of a loss also if only the unlock finds it.
func TestObserverLearnsOfALossThatUnlockFinds(t *testing.T) {
	each(t, func(w *world) {
		ctx, seen := w.ctx(), &diary{}
		l, admin := w.locks(Observe(seen)), w.locks()
		m := l.Mutex(w.name)
		for name, c := range map[string]struct {
			lock, remote offered
			successors   int // to which it would be handed off
		}{
			"mutex":            {m, admin.Mutex(w.name), 0},
			"mutex, in demand": {m, admin.Mutex(w.name), 1},
			"fair":             {l.FairMutex(w.name), admin.FairMutex(w.name), 0},
		} {
			h := w.must(c.lock.Lock(ctx))
			successors := w.lineUp(m, c.successors)
			_, err := c.remote.ForceUnlock(ctx)
			w.ok(err)
			seen.since()
			if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
				w.t.Errorf("%s: unlock: got %v, want ErrLost", name, err)
			}
			if said := strings.Join(seen.since(), ", "); !strings.Contains(said, "lost") || strings.Contains(said, "released") {
				w.t.Errorf("%s: %s", name, said)
			}
			for _, successor := range successors {
				w.ok(w.must(<-successor.hold, <-successor.err).Unlock(ctx))
			}
		}
	})
}

// A grant whose caller leaves at that moment is a failure, and as it is given back also counts as acquired and released.
func TestObserverCountsWhatIsGivenBack(t *testing.T) {
	each(t, func(w *world) {
		ctx, seen := w.ctx(), &diary{}
		rdb, p := w.client(keepsDeadline), &tap{} // it notices an end only when the answer comes
		rdb.AddHook(p)
		l := w.locksOn(rdb, Observe(seen))
		group := Group(w.name)
		for kind, lock := range map[Kind]Locker{
			KindMutex: MultiLock(l.Mutex("a", group), l.Mutex("b", group)),
			KindFair:  l.FairMutex(w.name),
			KindRead:  l.RWMutex(w.name).Reader(),
			KindWrite: l.RWMutex(w.name).Writer(),
		} {
			script := scripts.FifoAcquire
			if kind == KindMutex {
				script = scripts.Acquire
			}
			w.ok(w.must(lock.Lock(ctx)).Unlock(ctx)) // the server knows the script now
			seen.since()
			going, leave := context.WithCancel(ctx)
			p.on(script, func(_ redis.Cmder, next func() error) error {
				defer leave()
				return next()
			})
			if h, err := lock.Lock(going); !errors.Is(err, context.Canceled) {
				w.t.Errorf("%s: %v, %v", kind, h, err)
			}
			p.on(nil, nil)
			seen.sawGivenBack(t, kind)
		}
	})
}

// sawGivenBack tells whether one call has failed, and all that was acquired was released.
func (d *diary) sawGivenBack(t *testing.T, kind Kind) {
	t.Helper()
	counts := make(map[string]int)
	for _, line := range d.since() {
		counts[line]++
	}
	acquired, released := counts[fmt.Sprintf("acquired %s false", kind)], counts[fmt.Sprintf("released %s", kind)]
	if failed := counts[fmt.Sprintf("failed %s ended", kind)]; failed != 1 || acquired != released || len(counts) > 3 {
		t.Errorf("%s: %v, want one that failed, and as many released as acquired", kind, counts)
	}
}

// A lingering kind of lock takes its time to leave the line after a grant.
type lingering struct {
	lockKind
	leave func()
}

type lingeringAsker struct {
	asker
	leaves func()
}

func (k lingering) newAsker(acq *acquisition, run []*target) asker {
	return lingeringAsker{k.lockKind.newAsker(acq, run), k.leave}
}

func (a lingeringAsker) leave() {
	a.leaves()
	a.asker.leave()
}

func TestCallerWhoGoesBetweenGrantAndReturnIsNotAdmitted(t *testing.T) {
	each(t, func(w *world) {
		ctx, seen, rdb := w.ctx(), &diary{}, w.client()
		l := w.locks(Observe(seen))
		for _, one := range []interface {
			Locker
			single
		}{l.Mutex(w.name), l.FairMutex(w.name), l.RWMutex(w.name).Reader(), l.RWMutex(w.name).Writer()} {
			going, leave := context.WithCancel(ctx)
			a := one.self()
			a.kind = lingering{a.kind, leave}
			if h, err := one.Lock(going); !errors.Is(err, context.Canceled) {
				w.t.Errorf("%s: got %v, %v, want %v", a.kind.is(), h, err, context.Canceled)
			}
			seen.sawGivenBack(w.t, a.kind.is())
			w.soon("it is free", func() bool { return w.exists(rdb, a.stateKey) == 0 })
		}
	})
}

// The same where the lock is handed to a caller of the process that leaves just then.
func TestObserverCountsASuccessorThatLeavesOnce(t *testing.T) {
	onRedis(t, func(w *world) {
		const rounds = 100
		ctx, step := w.steps()
		seen := &diary{}
		l := w.locks(Observe(seen))
		m := l.Mutex(w.name)
		granted := 0
		for range rounds {
			step()
			h := w.must(m.Lock(ctx))
			going, leave := context.WithCancel(ctx)
			next := make(chan *Hold)
			go func() {
				h, _ := m.Lock(going)
				next <- h
			}()
			w.soon("it waits", func() bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				st := l.states[m.stateKey]
				return len(st.waiters) == 1
			})
			go leave()
			w.ok(h.Unlock(ctx))
			if h := <-next; h != nil {
				granted++
				w.ok(h.Unlock(ctx))
			}
			w.soon("it is free", func() bool { return w.exists(l.server.Client.(*redis.Client), m.stateKey) == 0 })
		}
		counts := make(map[string]int)
		for _, line := range seen.since() {
			counts[strings.Fields(line)[0]]++
		}
		if counts["acquired"] != counts["released"] || counts["acquired"] < rounds+granted || counts["failed"] != rounds-granted {
			w.t.Errorf("%v, want %d failed of %d calls, and what was acquired released", counts, rounds-granted, 2*rounds)
		}
	})
}
