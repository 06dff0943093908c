package locksim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/internal/locking"
)

// A force is one time that a server freed one side of a lock because somebody told it to.
type force struct {
	at    time.Time
	reads bool
	last  int64 // see lastToken
}

// reserve is more than the tokens that a process gets at once, for those who wait in it.
const reserve = 100

// lastToken returns the highest token that anybody may have got where a server shows the state of a lock: the highest that it has shown,
// or one in reserve, which is not ahead of the server's time. b.mu is held.
func (e *entry) lastToken(at shown) int64 {
	return max(e.state[at], min(e.state[at]+reserve, at.server.now().UnixMicro()))
}

// Force frees a lock, whoever has it: a RedLock on each of its servers, where it is a mutex.
func (a *Actor) Force(ctx context.Context, name string) {
	type forced interface {
		ForceUnlock(ctx context.Context) (bool, error)
	}
	w := a.Client.world
	w.note("%s forces %s", a, name)
	var locks []forced
	if isRed(name) {
		for _, node := range a.Client.Nodes {
			locks = append(locks, node.Mutex(name))
		}
	} else {
		locks = append(locks, a.part(name).(forced))
	}
	for _, lock := range locks {
		freed, err := lock.ForceUnlock(ctx)
		w.note("%s has forced %s: %t, %v", a, name, freed, err)
		if err != nil && w.Peaceful {
			w.T.Errorf("%s: %s forces %s in good weather: %v", w.Name, a, name, err)
		}
	}
}

// Raise asks for a token above a number, for a hold on one lock.
func (g *Grip) Raise(ctx context.Context, n int64) {
	w, begin := g.who.Client.world, time.Now()
	w.note("%s wants a token of %s above %d", g.who, g.names(), n)
	token, err := g.Hold.TokenAbove(ctx, n)
	w.note("%s has the token %d of %s: %v", g.who, token, g.names(), err)
	w.checker.raised(g.grips[0], n, token, begin, err)
}

// raised notes what TokenAbove has returned.
func (b *checker) raised(g *grip, n, token int64, begin time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err != nil:
		if b.world.Peaceful && g.trusted() && !b.forced(g) && b.kept(g) {
			b.wrong("%s gets no token of %s above %d in good weather: %v", g.who, g.name, n, err)
		}
	case token <= n || g.current() < token:
		b.wrong("%s asks for a token of %s above %d, gets %d, and has %d", g.who, g.name, n, token, g.current())
	case isRed(g.name): // of another lock its server shows the moment
		b.entry(g.name).rises = append(b.entry(g.name).rises, rise{at: time.Now(), from: g.token, to: token})
		b.entry(g.name).history.Add(Op{Kind: OpRaise, Token: token}, begin, time.Now())
	}
}

// current is the token of a grip now, which TokenAbove may have raised.
func (g *grip) current() int64 { return g.hold.Token() }

// noteForce notes what a server answers to who forces a lock. b.mu is held.
func (b *checker) noteForce(s *server, q *Request, answer []byte) {
	words := q.Words[0]
	if q.Verb != "force" && q.Verb != "fifo_force" || string(answer) != ":1\r\n" {
		return
	}
	count, _ := strconv.Atoi(words[2])
	key := words[3]
	if q.Verb == "fifo_force" {
		if key = words[4]; words[3+count] == "read" {
			key = words[6]
		}
	}
	role, rest, _ := strings.Cut(roleAndName(key), ":")
	name := states[role] + rest
	e := b.entry(name)
	f := force{at: time.Now(), reads: isRead(name), last: e.lastToken(shown{s, key})}
	e.forces = append(e.forces, f)
	for _, g := range e.grips {
		if b.forced(g) && !isRed(name) && !b.forgetful() {
			b.mustLearn(g)
		}
	}
	switch {
	case isRed(name): // one of several servers: it is over when a quorum is
		for _, g := range e.grips {
			if g.ended.IsZero() && b.forced(g) {
				b.recordEnd(g, f.at)
			}
		}
	case f.reads:
		b.entry(name).history.Add(Op{Kind: OpReadForce}, f.at, f.at)
	default:
		b.entry(name).history.Add(Op{Kind: OpForce}, f.at, f.at)
	}
}

// noteRise notes that a server has given the holder of a lock another token. b.mu is held.
func (b *checker) noteRise(name string, from, token int64) {
	op, e := Op{Kind: OpRaise, Token: token}, b.entry(name)
	e.rises = append(e.rises, rise{at: time.Now(), reads: isRead(name), from: from, to: token})
	if isRead(name) {
		op.Kind = OpReadRaise
		e.lifted = true
	}
	b.entry(name).history.Add(op, time.Now(), time.Now())
}

// raises tells whether a request may raise the token of a holder.
func (q *Request) raises() bool {
	return q.Verb == "token" || q.Verb == "fifo_token"
}

// forced tells whether somebody may have freed a lock from under a grip. Its owner does not know yet, perhaps, and may
// hand it to others of its process who get a token in reserve. b.mu is held.
func (b *checker) forced(g *grip) bool {
	return slices.ContainsFunc(b.entry(g.name).forces, func(f force) bool {
		return f.reads == g.reads() && g.token <= f.last
	})
}

// forcedFrom tells whether somebody has freed a lock from under an owner, or it has vanished, which ends what was taken inside of it.
// b.mu is held.
func (b *checker) forcedFrom(who *Actor) bool {
	for _, e := range b.names {
		if slices.ContainsFunc(e.grips, func(g *grip) bool { return g.who == who && (b.forced(g) || !b.kept(g)) }) {
			return true
		}
	}
	return false
}

// forcedDuring tells whether a call has failed because what it had taken was freed, or has vanished. b.mu is held.
func (b *checker) forcedDuring(c *call, err error) bool {
	return errors.Is(err, locking.ErrLost) && slices.ContainsFunc(c.names, func(name string) bool {
		e := b.entry(name)
		return !e.wiped.Before(c.begin) || slices.ContainsFunc(e.forces, func(f force) bool { return !f.at.Before(c.begin) })
	})
}
