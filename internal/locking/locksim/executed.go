package locksim

import (
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
	keys := s.redis.Keys()
	w.checker.mu.Lock()
	defer w.checker.mu.Unlock()
	if w.Peaceful {
		w.checker.checkOrder(q, answer)
		w.checker.noteQueue(q)
	}
	w.checker.noteForce(s, q, answer)
	for _, key := range keys {
		if s.redis.TTL(key) <= 0 {
			w.checker.wrong("key %s has no TTL", key)
		}
		role, name, _ := strings.Cut(roleAndName(key), ":")
		if kind, ok := states[role]; ok {
			w.checker.state(s, kind+name, key, q.raises())
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
	for i := range said {
		said[i] = string(q.Client.world.ids.plain([]byte(said[i])))
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
			if token < e.state[at] {
				b.wrong("%s gives %s the token %d after %d", s, name, token, e.state[at])
			}
			if raises && token > e.state[at] && !isRed(name) {
				b.noteRise(name, e.state[at], token)
			}
			e.state[at] = max(e.state[at], token)
		}
		if who := b.owners[ownerOf(field)]; who != nil && !b.world.weather.Wild && !b.forgetful() && who.Client.calm() {
			first, _, _ := strings.Cut(value, " ") // a reader's has more
			count, _ := strconv.Atoi(first)
			if most := b.atMost(e, who, isRead(name)); count > most {
				b.wrong("%s counts %d holds of %s on %s, who has %d at most", s, count, who, name, most)
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

// atMost is how many holds of an owner on one side of a lock the server may count. b.mu is held.
func (b *checker) atMost(e *entry, who *Actor, reading bool) int {
	n := e.asking[who]
	for _, g := range e.grips {
		if g.who == who && g.reads() == reading && !g.settled {
			n++
		}
	}
	for _, d := range e.doubts {
		if d.who == who && time.Now().Before(d.until) {
			n++
		}
	}
	return n
}
