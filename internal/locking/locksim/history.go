package locksim

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"inventory/internal/locking"
)

// Kind is what an operation on a lock was.
type Kind int

// The operations of the model.
const (
	OpLock   Kind = iota // granted, with a token
	OpUnlock             // confirmed
	OpEnd                // one hold ends at some time, or has ended: its lease runs out, or nobody knows when it was given back
	OpBusy               // refused, because somebody else has it

	OpRead       // granted to a reader, with the token of the phase
	OpReadUnlock // confirmed
	OpReadEnd    // as OpEnd

	OpForce     // freed, whoever had it, or had the writing side
	OpReadForce // the reading side was
	OpRaise     // the holder, or the writer, has got a higher token
	OpReadRaise // a reader has, and the phase
)

// An Op is one operation of an owner on a lock, as a client saw it.
type Op struct {
	Kind  Kind
	Owner string
	Token int64

	// Crowded says of OpBusy and OpRead that others were waiting, or had uncertain attempts under way: the lock may have
	// been reserved for them, or theirs for a moment, and a phase of readers theirs alone.
	Crowded bool

	// Before are the lower tokens that the grant may have come with, lowest first: another call of the owner raised its
	// token before this one had returned.
	Before []int64

	// Shared says that other calls of the same owner were under way: what they held of the lock, or asked of it, may
	// have kept the grant when no hold was left.
	Shared bool

	// Forced says of a grant that somebody had freed the lock before it came: its process did not know, and handed on what
	// nobody had any more. Such a grant may keep nobody out.
	Forced bool
}

// lockState is a fenced reentrant read-write lock: one writer, or many readers, or a writer who reads too.
type lockState struct {
	writer  string
	writes  int // of writer; 0: none
	readers map[string]int
	token   raised // of the writer
	phase   raised // of the readers
	top     int64  // the highest token there was
}

// raised is the token of a grant or a phase, in the beginning and now. An owner that got one between the two may keep it.
type raised struct{ from, to int64 }

// with is what it is with a new token.
func (r raised) with(token int64) raised { return raised{r.from, max(r.to, token)} }

// has tells whether a token is one of it.
func (r raised) has(token int64) bool { return r.from <= token && token <= r.to }

// model is a read-write lock with tokens that grow with each writer and each phase of readers. The writer may read, and is a reader
// when it has given its last write hold back; a reader never becomes a writer. A mutex is one that nobody reads.
//
// A hold that nobody gives back ends at some time. A failed attempt leaves no operation: whether it took place or not, it gave nobody
// anything, and whoever it kept out for a moment was crowded.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			return state.(lockState).granted(input.(Op))
		},
		Equal: func(a, b any) bool { return a.(lockState).equal(b.(lockState)) },
	}
}

// granted tries the step of an operation with each token that its grant may have come with, the lowest first.
func (s lockState) granted(o Op) (bool, lockState) {
	for _, token := range append(slices.Clip(o.Before), o.Token) {
		o.Token = token
		if possible, next := s.step(o); possible {
			return true, next
		}
	}
	return o.Forced, s
}

func (s lockState) equal(o lockState) bool {
	return s.writer == o.writer && s.writes == o.writes && s.token == o.token && s.phase == o.phase &&
		s.top == o.top && maps.Equal(s.readers, o.readers)
}

// step tells whether an operation is possible in a state, and what the state is afterwards.
func (s lockState) step(o Op) (bool, lockState) {
	writes := s.writes > 0 && s.writer == o.Owner && s.token.has(o.Token)
	reads := s.readers[o.Owner] > 0 && s.phase.has(o.Token)
	switch o.Kind {
	case OpLock:
		if writes {
			s.writes++
			return true, s
		}
		if o.Shared && s.writes == 0 && s.writer == o.Owner && s.token.has(o.Token) && s.onlyReader(o.Owner) { // it was kept
			s.writes++
			return true, s
		}
		free := s.writes == 0 && len(s.readers) == 0 && o.Token > s.top
		return free, lockState{writer: o.Owner, writes: 1, token: raised{o.Token, o.Token}, top: o.Token}
	case OpUnlock, OpEnd:
		if writes {
			s.writes--
		}
		return writes || o.Kind == OpEnd, s
	case OpRead:
		return s.read(o)
	case OpReadUnlock, OpReadEnd:
		if reads {
			s = s.with(o.Owner, -1)
		}
		return reads || o.Kind == OpReadEnd, s
	case OpForce:
		s.writer, s.writes, s.token = "", 0, raised{}
		return true, s
	case OpReadForce:
		s.readers, s.phase = nil, raised{}
		return true, s
	case OpRaise:
		s.token, s.top = s.token.with(o.Token), max(s.top, o.Token)
		return true, s
	case OpReadRaise:
		s.phase, s.top = s.phase.with(o.Token), max(s.top, o.Token)
		return true, s
	default:
		return o.Crowded || s.writes > 0 && s.writer != o.Owner || len(s.readers) > 0, s
	}
}

// read lets an owner in that wants to read.
func (s lockState) read(o Op) (bool, lockState) {
	switch {
	case s.writes > 0 && s.writer != o.Owner:
		return false, s
	case len(s.readers) > 0:
		known := s.readers[o.Owner] > 0 || o.Crowded // with a token from before it was raised
		return o.Token == s.phase.to || known && s.phase.has(o.Token), s.with(o.Owner, 1)
	case o.Crowded && s.writes == 0 && s.phase.has(o.Token) && s.phase.to == s.top: // somebody unknown kept the phase
		return true, s.with(o.Owner, 1)
	case o.Shared && s.writer == o.Owner && s.phase.has(o.Token): // the writer did
		return true, s.with(o.Owner, 1)
	case o.Token <= s.top:
		return false, s
	}
	s.phase, s.top = raised{o.Token, o.Token}, o.Token
	return true, s.with(o.Owner, 1)
}

// onlyReader tells whether nobody else reads.
func (s lockState) onlyReader(owner string) bool {
	return len(s.readers) == 0 || len(s.readers) == 1 && s.readers[owner] > 0
}

// with returns the state with one more or one less hold of a reader.
func (s lockState) with(owner string, more int) lockState {
	s.readers = maps.Clone(s.readers)
	if s.readers == nil {
		s.readers = make(map[string]int)
	}
	if s.readers[owner] += more; s.readers[owner] == 0 {
		delete(s.readers, owner)
	}
	return s
}

// String tells it.
func (o Op) String() string {
	kinds := [...]string{
		"lock", "unlock", "end", "busy", "read", "unlock read", "end read", "force", "force read", "raise", "raise read",
	}
	return fmt.Sprintf("%s %s %d", o.Owner, kinds[o.Kind], o.Token)
}

// open is the return of an operation that may take effect at any time from its call on.
const open = math.MaxInt64

// A History is what happened to one mutex.
type History struct {
	ops []porcupine.Operation
	ids map[string]int
}

// Add adds an operation that took place between two moments; end is zero where it may still do so.
func (h *History) Add(o Op, begin, end time.Time) {
	if h.ids == nil {
		h.ids = make(map[string]int)
	}
	if _, known := h.ids[o.Owner]; !known {
		h.ids[o.Owner] = len(h.ids)
	}
	op := porcupine.Operation{ClientId: h.ids[o.Owner], Input: o, Call: begin.UnixNano(), Return: open}
	if !end.IsZero() {
		op.Return = end.UnixNano()
	}
	h.ops = append(h.ops, op)
}

// Check tells whether some order of the operations explains the history. If not, it lists them. The answer is Unknown if it takes too
// long, or too many steps: in a bubble no time passes meanwhile.
func (h *History) Check(limit time.Duration) (porcupine.CheckResult, string) {
	m, steps := model(), 0
	step := m.Step
	m.Step = func(state, input, output any) (bool, any) {
		if steps++; steps > maxSteps {
			return false, state
		}
		return step(state, input, output)
	}
	result := porcupine.CheckOperationsTimeout(m, slices.Clone(h.ops), limit)
	if steps > maxSteps {
		result = porcupine.Unknown
	}
	if result == porcupine.Ok {
		return result, ""
	}
	var b strings.Builder
	for _, op := range h.ops {
		until := "?"
		if op.Return != open {
			until = time.Duration(op.Return - h.ops[0].Call).String()
		}
		fmt.Fprintf(&b, "  %s from %s to %s\n", op.Input, time.Duration(op.Call-h.ops[0].Call), until)
	}
	return result, b.String()
}

// checkLimit is how long the checker may take for the history of one lock.
const checkLimit = 20 * time.Second

// maxSteps is how many steps it may take: a hundred times as many as a usual history.
const maxSteps = 2_000_000

// recordFailure notes a refusal. Other errors say nothing about the lock. b.mu is held.
func (b *checker) recordFailure(c *call, err error) {
	if len(c.names) == 1 && errors.Is(err, locking.ErrBusy) && c.gone().IsZero() {
		name := c.names[0]
		crowded := c.locks[name].crowd || c.locks[name].shared || b.wild() || !c.who.Client.calm() || b.misled(c, name) || b.givesBack(c, name)
		op := Op{Kind: OpBusy, Owner: c.who.String(), Crowded: crowded}
		b.entry(name).history.Add(op, c.begin, time.Now())
	}
}

// misled tells whether a call waited for a hold of its own process that had been freed by force: the process had not learned of
// it, and a waiter in its line asks the server only after a poll. The process knows a hold that nobody unlocks until its lease is
// over, also after its context. b.mu is held.
func (b *checker) misled(c *call, name string) bool {
	return time.Since(c.begin) < pollTime && slices.ContainsFunc(b.entry(name).grips, func(g *grip) bool {
		return g.who.Client == c.who.Client && b.forced(g) && (g.ended.IsZero() || c.begin.Before(g.ended.Add(2*b.longest)))
	})
}

// givesBack tells whether the owner itself was giving the lock back during a call, in another goroutine. Until the server has heard
// of that, the lock is busy for everybody, and a TryLock does not wait for its owner's other calls. b.mu is held.
func (b *checker) givesBack(c *call, name string) bool {
	return slices.ContainsFunc(b.entry(name).grips, func(g *grip) bool {
		return g.who == c.who && g.released && !(g.settled && g.confirmed.Before(c.begin))
	})
}

// kind is the operation on the side of a grip.
func (g *grip) kind(k Kind) Kind {
	if g.reads() {
		return map[Kind]Kind{OpLock: OpRead, OpUnlock: OpReadUnlock, OpEnd: OpReadEnd}[k]
	}
	return k
}

// recordGrant notes a hold. It may be part of one that another call of the owner got before, such as a MultiLock that still
// waits for its other parts and fails in the end: that call is in no history, so this one has got the lock since then. b.mu
// is held.
func (b *checker) recordGrant(c *call, g *grip) {
	lock := c.locks[g.name]
	b.entry(g.name).history.Add(Op{
		Kind: g.kind(OpLock), Owner: g.who.String(), Token: g.token, Crowded: lock.crowd || !g.who.Client.calm(),
		Shared: lock.shared, Forced: b.forced(g), Before: b.entry(g.name).before(g, c),
	}, lock.since, time.Now())
	if isRed(g.name) && b.forced(g) {
		b.recordEnd(g, c.begin)
	}
}

// before returns the tokens that a grant may have come with before they were raised, since it may have come.
func (e *entry) before(g *grip, c *call) []int64 {
	token, tokens := g.token, []int64(nil)
	for _, r := range slices.Backward(e.rises) {
		if r.reads == g.reads() && r.to == token && !r.at.Before(c.locks[g.name].since) {
			token, tokens = r.from, append(tokens, r.from)
		}
	}
	slices.Reverse(tokens)
	return tokens
}

// recordRelease notes what Unlock has returned. b.mu is held.
func (b *checker) recordRelease(g *grip, begin time.Time, err error) {
	if err == nil && !g.over && !b.forced(g) {
		g.over = true
		b.entry(g.name).history.Add(Op{Kind: g.kind(OpUnlock), Owner: g.who.String(), Token: g.token}, begin, time.Now())
		return
	}
	if !g.ended.IsZero() && g.ended.Before(begin) {
		begin = g.ended // from when on nothing renewed it
	}
	b.recordEnd(g, begin)
}

// recordEnd notes that a hold ends at some time from a moment on. b.mu is held.
func (b *checker) recordEnd(g *grip, from time.Time) {
	if !g.over {
		g.over = true
		b.entry(g.name).history.Add(Op{Kind: g.kind(OpEnd), Owner: g.who.String(), Token: g.token}, from, time.Time{})
	}
}

// checkHistories holds what was recorded against the model. b.mu is held.
func (b *checker) checkHistories() {
	for name, e := range b.names {
		if b.vague(name) {
			continue // a server that has forgotten keeps no promise but growing tokens
		}
		for _, g := range e.grips {
			if !g.over && !g.ended.IsZero() {
				b.recordEnd(g, g.ended)
			}
		}
		switch result, why := e.history.Check(checkLimit); result {
		case porcupine.Ok:
		case porcupine.Unknown:
			b.world.note("the history of %s is too long to explain", name)
		default:
			b.wrong("the history of %s is %s: no order of its operations explains it\n%s", name, result, why)
		}
	}
}
