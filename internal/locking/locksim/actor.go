package locksim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"inventory/internal/locking"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// An Actor is an owner in a process. Its actions are checked.
type Actor struct {
	Client *Client
	Ctx    context.Context // carries the owner
	id     int
}

// Actor adds an owner to a process.
func (c *Client) Actor() *Actor {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actors++
	return &Actor{Client: c, Ctx: locking.NewOwner(c.ctx), id: w.actors}
}

// String names it.
func (a *Actor) String() string { return fmt.Sprintf("%s/o%d", a.Client, a.id) }

// An Acquisition is what an actor asks for.
type Acquisition struct {
	Names []string // see Lock; more than one: a MultiLock
	Try   bool
	Wait  time.Duration // negative: TryLock with none; 0: without a bound
	Lease time.Duration // 0: the watchdog's
}

// String tells it in a few words.
func (v Acquisition) String() string {
	text := strings.Join(v.Names, "+")
	if v.Try {
		text = "try " + text
	}
	if v.Wait != 0 {
		text += fmt.Sprintf(" wait %s", v.Wait)
	}
	if v.Lease != 0 {
		text += fmt.Sprintf(" lease %s", v.Lease)
	}
	return text
}

// A Grip is a hold on one lock or several.
type Grip struct {
	Hold  *locking.Hold
	who   *Actor
	grips []*grip

	mu      sync.Mutex
	begin   time.Time // of the first Unlock
	running int       // how many are under way
	done    bool      // none is any more
	failed  error
}

// locker makes the lock of an acquisition.
func (a *Actor) locker(v Acquisition) locking.Locker {
	var parts []locking.Locker
	for _, name := range v.Names {
		parts = append(parts, a.part(name))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return locking.MultiLock(parts...)
}

// The first letters of a name tell the kind of lock: without them it is a Mutex.
const (
	fair   = "fair:"
	reads  = "read:"
	writes = "write:"
	red    = "red:" // of its mutexes on the servers too
)

// part makes one lock. Names that begin alike are in one slot.
func (a *Actor) part(name string) locking.Locker {
	kind, bare, found := strings.Cut(name, ":")
	if !found {
		return a.Client.Locks.Mutex(name, locking.Group(name[:1]))
	}
	group := locking.Group(bare[:1])
	switch kind + ":" {
	case red:
		return locking.RedLock(name, a.Client.Nodes...)
	case fair:
		return a.Client.Locks.FairMutex(bare, group)
	case reads:
		return a.Client.Locks.RWMutex(bare, group).Reader()
	default:
		return a.Client.Locks.RWMutex(bare, group).Writer()
	}
}

// lockOf returns what a name is kept under: both sides of a lock are one.
func lockOf(name string) string {
	if bare, found := strings.CutPrefix(name, reads); found {
		return writes + bare
	}
	return name
}

// isRed tells whether a name is that of a RedLock.
func isRed(name string) bool { return strings.HasPrefix(name, red) }

// isRead tells whether a name is that of a reading side.
func isRead(name string) bool { return strings.HasPrefix(name, reads) }

// Lock takes what an actor asks for, in a context that carries the actor's owner.
func (a *Actor) Lock(ctx context.Context, v Acquisition) (*Grip, error) {
	w := a.Client.world
	c := &call{who: a, names: v.Names, begin: time.Now(), lease: a.Client.lease, gone: endOf(ctx)}
	c.alive = func() bool {
		deadline, ok := ctx.Deadline()
		return ctx.Err() == nil && (!ok || time.Now().Before(deadline))
	}
	var opts []locking.LockOption
	if v.Lease > 0 {
		opts = append(opts, locking.Lease(v.Lease))
		c.lease, c.fixed = v.Lease, true
	}
	if v.Wait > 0 {
		opts = append(opts, locking.Wait(v.Wait))
	}
	w.note("%s asks: %s", a, v)
	w.checker.asks(c)
	take := a.locker(v).Lock
	if v.Try {
		take = a.locker(v).TryLock
	}
	hold, err := take(ctx, opts...)
	if (hold == nil) != (err != nil) {
		w.T.Errorf("%s: %s has the hold %v and the error %v", w.Name, a, hold, err)
	}
	if err != nil {
		w.note("%s is refused: %s: %s", a, v, class(err))
		w.checker.answered(c, nil, err)
		return nil, err
	}
	parts := []*locking.Hold{hold}
	if len(v.Names) > 1 {
		parts = hold.Parts()
	}
	w.note("%s has %s, token %d", a, v, parts[0].Token())
	return &Grip{Hold: hold, who: a, grips: w.checker.answered(c, parts, nil)}, nil
}

// class tells what kind of error it is: what is joined to it may depend on who was first at a moment.
func class(err error) string {
	for _, known := range []error{locking.ErrBusy, locking.ErrUpgrade, locking.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "uncertain"
}

// endOf returns what tells when a context ended, in virtual time; zero while it lives.
func endOf(ctx context.Context) func() time.Time {
	var mu sync.Mutex
	var ended time.Time
	context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = time.Now()
	})
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return ended
	}
}

// Unlock gives it back. Of several at once, the library may let any do the work, and the others return
// before it is done. Once more, when all is done, is checked to do nothing.
func (g *Grip) Unlock(ctx context.Context) error {
	w := g.who.Client.world
	g.mu.Lock()
	if g.running++; g.begin.IsZero() {
		g.begin = time.Now()
		w.note("%s unlocks %s", g.who, g.names())
		w.checker.releases(g.grips)
	}
	g.mu.Unlock()
	err := g.Hold.Unlock(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.failed = errors.Join(g.failed, err)
	switch {
	case g.done && err != nil:
		w.T.Errorf("%s: %s unlocks %s once more: %v", w.Name, g.who, g.names(), err)
	case g.running == 0 && !g.done:
		g.done = true
		w.note("%s has unlocked %s: %v", g.who, g.names(), g.failed)
		w.checker.released(g.grips, g.begin, g.failed)
	}
	return err
}

func (g *Grip) names() []string {
	names := make([]string, len(g.grips))
	for i, part := range g.grips {
		names[i] = part.name
	}
	return slices.Clip(names)
}
