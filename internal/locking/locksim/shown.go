package locksim

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// executed looks at a server right after it has served a request: what is true of its keys at any time.
// It runs on the agenda, when all is at rest.
func (w *World) executed(l *link, q *Request, answer []byte) {
	if !q.runsScript() {
		return
	}
	s := l.server
	heard := append([]byte(nil), answer...)
	w.trace.add(func() string { return l.String() + " " + q.describe(heard) })
	w.checker.sees(s, q, answer)
	w.evict(l, q)
}

// sees checks what a server says right after a request.
func (b *checker) sees(s *server, q *Request, answer []byte) {
	keys := s.redis.Keys()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.world.Peaceful && b.world.weather.Vanish == 0 {
		b.checkOrder(q, answer)
	}
	b.noteForce(s, q, answer)
	for _, key := range keys {
		if s.redis.TTL(key) <= 0 {
			b.wrong("key %s has no TTL", roleAndName(key))
		}
		role, name, _ := strings.Cut(roleAndName(key), ":")
		if kind, ok := states[role]; ok {
			b.state(s, kind+name, key, q.raises())
		}
	}
}

// states tells which keys say who holds what: the role, and what our names of such locks begin with.
var states = map[string]string{"m": "", "f": fair, "rw": writes, "rwc": reads}

// roleAndName returns the role of a key, a colon, and the name of the lock. The group, which the name begins with in here,
// stands between the two with its length.
func roleAndName(key string) string {
	_, rest, _ := strings.Cut(key, "}:")
	role, name, _ := strings.Cut(rest, ":")
	if bare := strings.TrimRight(role, "0123456789"); bare != role {
		_, name, _ = strings.Cut(name, ":")
		return bare + ":" + name
	}
	return rest
}

// describe tells a request and its answer. The commands of a pipeline are sorted, for they come in no order.
func (q *Request) describe(answer []byte) string {
	answers, _ := frames(answer)
	said := make([]string, len(q.Words))
	for i, list := range q.Words {
		said[i] = strings.Join(list[min(3, len(list)):], " ") + " ->"
		if i < len(answers) {
			said[i] += " " + strings.Join(words(answers[i]), " ")
		}
	}
	slices.Sort(said)
	return q.String() + ": " + strings.Join(said, " | ")
}

// state checks what a server says of a lock, after a request that may have raised its token. b.mu is held.
func (b *checker) state(s *server, name, key string, raises bool) {
	redis := s.redis
	e, at := b.entry(name), shown{s, key}
	fields, err := redis.HKeys(key)
	if err != nil {
		return // it has expired just now
	}
	for _, field := range fields {
		value := redis.HGet(key, field)
		if field == "token" {
			token, _ := strconv.ParseInt(value, 10, 64)
			if token < e.state[at] && !e.mayFall(s) {
				b.wrong("%s gives %s the token %d after %d", s, name, token, e.state[at])
			}
			if raises && token > e.state[at] && !isRed(name) {
				b.noteRise(name, e.state[at], token)
			}
			e.state[at] = max(e.state[at], token)
		}
		if who := b.owners[ownerOf(field)]; who != nil && !b.wild() && !b.forgetful() && who.Client.calm() {
			if !b.mayHold(e, who, isRead(name)) {
				b.wrong("%s says that %s has %s, who does not", s, who, name)
			}
		}
	}
}

// ownerOf returns the owner of a holder's id, which adds the number of the grant.
func ownerOf(id string) string {
	if first, last := strings.IndexByte(id, ':'), strings.LastIndexByte(id, ':'); first < last {
		return id[:last]
	}
	return id
}

// mayHold tells whether an owner may have one side of a lock by the server's books. b.mu is held.
func (b *checker) mayHold(e *entry, who *Actor, reading bool) bool {
	return e.asks[who].now > 0 ||
		slices.ContainsFunc(e.grips, func(g *grip) bool { return g.who == who && g.reads() == reading && !g.settled }) ||
		slices.ContainsFunc(e.doubts, func(d doubt) bool { return d.who == who && time.Now().Before(d.until) })
}

// A place is where a waiter stands in the queue of a first-come lock.
type place struct {
	waiter string
	reads  bool
}

// checkOrder checks who is let in to a first-come lock: the first that waits, or a reader before whom only readers wait. It is
// only asked while nobody dies, so that nobody may be passed over. b.mu is held.
func (b *checker) checkOrder(q *Request, answer []byte) {
	for _, words := range q.Words {
		switch verbOf(words) {
		case "fifo_release":
			b.takeOut(words[4], words[12]+":"+words[16])
		case "fifo_acquire":
			b.checkEntry(words[4], words[12:], answer)
		}
	}
}

// checkEntry checks the answer to who asks for a first-come lock. The name of the script and the number of keys came before the
// nine keys, of which one is the state. b.mu is held.
func (b *checker) checkEntry(state string, arguments []string, answer []byte) {
	me, reading, holder, ticket := arguments[0]+":"+arguments[5], arguments[2] == "read", arguments[3], arguments[5]
	queue := b.queues[state]
	place := place{me, reading}
	switch {
	case bytes.HasPrefix(answer, []byte("*2\r\n:1\r\n")): // busy
		if ticket != "" && !slices.Contains(queue, place) {
			b.queues[state] = append(queue, place)
		}
		return
	case len(answer) == 0 || answer[0] != '$':
		return // not granted
	}
	b.takeOut(state, me)
	role, name, _ := strings.Cut(roleAndName(state), ":")
	again := b.admitted[holder] == string(answer) // a copy, or a question after an answer that was lost
	b.admitted[holder] = string(answer)
	if again || arguments[7] != "" || b.holds(ownerOf(holder), lockName(role, name)) {
		return
	}
	for _, other := range queue {
		if other.waiter == me {
			return
		}
		if !reading || !other.reads {
			b.wrong("%s enters %s before %s, who came earlier", me, name, other.waiter)
			return
		}
	}
}

// takeOut takes a waiter out of a queue. b.mu is held.
func (b *checker) takeOut(state, waiter string) {
	b.queues[state] = slices.DeleteFunc(slices.Clone(b.queues[state]), func(p place) bool { return p.waiter == waiter })
}

// lockName is what a name of ours begins with for a role, and the name.
func lockName(role, name string) string {
	if role == "f" {
		return fair + name
	}
	return writes + name
}

// holds tells whether an owner, as the server knows it, may hold a lock already. b.mu is held.
func (b *checker) holds(owner, name string) bool {
	who := b.owners[owner]
	return who != nil && slices.ContainsFunc(b.entry(name).grips, func(g *grip) bool { return g.who == who && !g.isConfirmed() })
}

// amnesia notes that a server has lost locks.
func (b *checker) amnesia(s *server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.forgot = time.Now()
	if len(b.world.servers) == 1 {
		return // its tokens are its time, and go on from there
	}
	for _, e := range b.names {
		for at := range e.state {
			if at.server == s {
				delete(e.state, at)
			}
		}
	}
}

// forgetful tells whether any server has ever lost locks. b.mu is held.
func (b *checker) forgetful() bool {
	return slices.ContainsFunc(b.world.servers, func(s *server) bool { return !s.forgot.IsZero() })
}

// kept tells whether a hold's servers remember enough of it to keep others out. b.mu is held.
func (b *checker) kept(g *grip) bool { return b.bears(g, func(l loss) bool { return !l.tokens }) }

// bears tells whether a hold bears what its servers have lost, of which not all may count: of the k servers that carry its token
// fewer than k + q - n have forgotten it since it was asked for, where a quorum is q of n. So the only one must not.
// b.mu is held.
func (b *checker) bears(g *grip, counts func(loss) bool) bool {
	forgot := 0
	for _, s := range g.carriers {
		gone := func(l loss) bool {
			return l.server == s && l.reads == g.reads() && g.token <= l.last && counts(l)
		}
		if !s.forgot.Before(g.asked) || slices.ContainsFunc(b.entry(g.name).losses, gone) {
			forgot++
		}
	}
	n := 1
	if isRed(g.name) {
		n = len(b.world.servers)
	}
	quorum := n/2 + 1
	return forgot < len(g.carriers)+quorum-n
}

// outgrown tells whether the tokens of grants after a hold must be above its own. Those of one server are its time, and
// grow whatever it forgets. b.mu is held.
func (b *checker) outgrown(g *grip) bool {
	return !isRed(g.name) || b.bears(g, func(loss) bool { return true })
}

// allKept tells whether all holds of a lock are kept. b.mu is held.
func (b *checker) allKept(name string) bool {
	return !slices.ContainsFunc(b.entry(name).grips, func(g *grip) bool { return !b.outgrown(g) })
}

// vague tells whether the history of a lock cannot be explained, because a server has lost what it knew. b.mu is held.
func (b *checker) vague(name string) bool {
	e := b.entry(name)
	return (b.forgetful() || e.blurred || len(e.losses) > 0) && !(isRed(name) && b.allKept(name))
}

// wild tells whether a copy of a request may take a lock that nobody has asked for any more. b.mu is held.
func (b *checker) wild() bool { return b.world.weather.Wild || b.copies }

// judge notes what is wrong, or would be if the servers had not forgotten. b.mu is held.
func (b *checker) judge(promised bool, format string, args ...any) {
	if promised {
		b.wrong(format, args...)
		return
	}
	text := sprintf(format, args...)
	b.excused = append(b.excused, text)
	b.world.note("EXCUSED: %s", text)
}

// Excused tells what was wrong and may be, because servers have forgotten more than the locks can bear.
func (w *World) Excused() []string {
	w.checker.mu.Lock()
	defer w.checker.mu.Unlock()
	return slices.Clone(w.checker.excused)
}

// stuck notes that somebody still waits after everything was in order for long enough.
func (b *checker) stuck(limit time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, e := range b.names {
		for who, theirs := range e.asks {
			if theirs.now > 0 {
				b.wrong("%s still waits for %s after %s", who, name, limit)
			}
		}
	}
	b.wrong("the history does not end within %s", limit)
}

// setBack is by how much leases may last longer because the clock was set back. Longer steps are for
// Mutexes alone, which do not mind.
func (b *checker) setBack() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.stepped, 10*time.Second)
}

// longestLease is the longest lease that anybody has asked for.
func (b *checker) longestLease() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.longest
}

// nothingHeld checks, after the last lease, that no lock is held or reserved.
func (b *checker) nothingHeld() {
	keys := b.world.keys()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		role, _, _ := strings.Cut(roleAndName(key), ":")
		if slices.Contains([]string{"m", "f", "rw", "rwr", "rwc"}, role) {
			b.wrong("%s is left when all leases have run out", key)
		}
	}
}

// ask looks at the servers on the agenda.
func ask[T any](w *World, look func() T) T {
	answer := make(chan T)
	w.At(0, func(*World, *server) {
		for _, s := range w.servers {
			s.setClock()
		}
		answer <- look()
	})
	return <-answer
}

// keys returns what is there, on any server. The history has ended.
func (w *World) keys() []string {
	return ask(w, func() (keys []string) {
		for _, s := range w.servers {
			keys = append(keys, s.redis.Keys()...)
		}
		return keys
	})
}

// nothingLeft checks, after the last TTL, that only clocks are left.
func (w *World) nothingLeft() {
	time.Sleep(61*time.Second + 2*w.checker.longestLease())
	for _, key := range w.keys() {
		if !strings.HasSuffix(key, "}:clock") {
			w.checker.mu.Lock()
			w.checker.wrong("%s is left at the very end", key)
			w.checker.mu.Unlock()
		}
	}
}

// find returns the key of a role and a name at the first server, or "".
func (w *World) find(roleAndBare string) string {
	keys := w.servers[0].redis.Keys()
	if i := slices.IndexFunc(keys, func(key string) bool { return roleAndName(key) == roleAndBare }); i >= 0 {
		return keys[i]
	}
	return ""
}

// Held returns how often each owner has a mutex by the first server's books; nil when nobody has it.
func (w *World) Held(name string) map[string]int {
	return ask(w, func() map[string]int {
		key := w.find("m:" + name)
		fields, err := w.servers[0].redis.HKeys(key)
		if err != nil || slices.Contains(fields, "claim") {
			return nil // free, or reserved for somebody
		}
		held := make(map[string]int)
		for _, field := range fields {
			if field != "token" {
				held[ownerOf(field)], _ = strconv.Atoi(w.servers[0].redis.HGet(key, field))
			}
		}
		return held
	})
}

// Queued returns how many stand in the queue of a mutex at the first server.
func (w *World) Queued(name string) int {
	return ask(w, func() int {
		members, _ := w.servers[0].redis.ZMembers(w.find("mq:" + name)) // it is gone, which is none
		return len(members)
	})
}

// End waits until all leases have run out, checks that nothing is left, and closes the world.
func (w *World) End() {
	time.Sleep(w.checker.setBack() + time.Until(later(time.Now(), w.weather.clears)) + 3*w.checker.longestLease() + 2*w.weather.Long + settled)
	w.checker.nothingHeld()
	for _, c := range w.clients {
		c.close()
	}
	w.nothingLeft()
	w.close()
}
