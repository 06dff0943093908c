package locksim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// announce sends a wake-up on its way to the client, or what the weather makes of it. l.mu is held.
func (l *link) announce(frame []byte, delay time.Duration, random *rand.Rand) {
	w, now := l.world, time.Now()
	lies := now.Before(w.weather.clears)
	chance := func(p float64) bool { return random.Float64() < p && lies }
	if chance(w.weather.Deaf) || now.Before(l.client.deafUntil) {
		w.note("%s a wake-up is lost", l)
		return
	}
	if chance(w.weather.Astray) {
		frame = l.client.astray(frame, random)
		w.note("%s a wake-up says instead: %s", l, payload(frame))
	}
	l.client.told = append(l.client.told, payload(frame))
	if chance(w.weather.Late) {
		delay = w.weather.long(random)
		w.note("%s a wake-up takes %s", l, delay)
	}
	if chance(w.weather.Doubled) {
		again := w.weather.long(random)
		w.note("%s a wake-up comes again after %s", l, again)
		w.agenda.at(now.Add(again), random.Uint64(), func() { l.pass(frame) })
	}
	w.agenda.at(now.Add(delay), random.Uint64(), func() { l.pass(frame) })
}

// payload is what a message says.
func payload(frame []byte) string { return words(frame)[2] }

// astray returns a message that says what another one has said to the client: of another lock, or to another waiter. If there was
// no other, it names a lock that does not exist.
func (c *Client) astray(frame []byte, random *rand.Rand) []byte {
	said := words(frame)
	others := slices.DeleteFunc(slices.Clone(c.told), func(other string) bool { return other == said[2] })
	others = append(others, said[2]+"?")
	said[2] = others[random.IntN(len(others))]
	text := string(frame[:1]) + "3\r\n"
	for _, word := range said {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return []byte(text)
}

// evict lets a key vanish now and then, whatever it is for, as a server does that makes room. It does so after a request: nobody can
// tell from any later moment before the next one.
func (w *World) evict(l *link, q *Request) {
	random := w.draw(l.client.path(l.server), append(q.frames, []byte("evict")))
	if random.Float64() >= w.weather.Vanish || !time.Now().Before(w.weather.clears) {
		return
	}
	keys := l.server.redis.Keys()
	if len(keys) == 0 {
		return
	}
	w.vanish(l.server, keys[random.IntN(len(keys))])
}

// vanish lets a key of a server vanish.
func (w *World) vanish(s *server, key string) {
	w.note("%s loses the key %s", s, roleAndName(key))
	w.checker.vanished(s, key)
	s.redis.Del(key)
}

// Vanish lets a key vanish: that of a role and a name.
func Vanish(roleAndName string) Fault {
	return func(w *World, s *server) {
		if key := w.find(roleAndName); key != "" {
			w.vanish(s, key)
		}
	}
}

// A loss is one time that a server has lost what it knew of the holders of one side of a lock, because a key vanished.
type loss struct {
	server *server
	reads  bool
	last   int64 // see lastToken
	tokens bool  // only the last token of the bucket vanished: who holds the lock is known
}

// vanished notes that a key of a server vanishes now.
func (b *checker) vanished(s *server, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	role, name, _ := strings.Cut(roleAndName(key), ":")
	switch role {
	case "clock":
		b.timeless(s, strings.TrimSuffix(key, role))
		return
	case "x":
		b.copies = true
		return
	}
	e := b.entry(kindOf(role) + name)
	e.wiped = time.Now()
	switch role {
	case "m", "f", "rw":
		e.losses = append(e.losses, loss{server: s, last: e.lastToken(shown{s, key})})
	case "rwr":
		tokens := strings.Replace(key, ":rwr", ":rwc", 1)
		e.losses = append(e.losses, loss{server: s, last: e.lastToken(shown{s, tokens}), reads: true})
	case "rwc": // the next reader of the phase gets a new token
		e.lifted, e.blurred = true, true
	}
	for _, g := range e.grips {
		if !b.kept(g) && !b.forgetful() {
			b.mustLearn(g)
		}
	}
}

// kindOf returns what a name of ours begins with, for the role of a key.
func kindOf(role string) string {
	switch role[0] {
	case 'm':
		return ""
	case 'f':
		return fair
	default:
		return writes
	}
}

// timeless notes that one of several servers forgets the last token of a bucket. If there is only one server, its tokens are its time,
// and go on from there. b.mu is held.
func (b *checker) timeless(s *server, bucket string) {
	if len(b.world.servers) == 1 {
		return
	}
	for _, e := range b.names {
		for at := range e.state {
			if at.server == s && strings.HasPrefix(at.key, bucket) {
				e.losses = append(e.losses, loss{server: s, last: e.lastToken(at), tokens: true})
			}
		}
	}
}

// mayFall tells whether a server that has forgotten a bucket's last token may show one that is lower. b.mu is held.
func (e *entry) mayFall(s *server) bool {
	return slices.ContainsFunc(e.losses, func(l loss) bool { return l.server == s && l.tokens })
}

// mustLearn notes that a holder has lost a lock just now. It is told within a lease: its own, or the one for which its process renews
// locks. If its process has sent anything twice, a late copy may take the lock again, and its holder goes on. b.mu is held.
func (b *checker) mustLearn(g *grip) {
	if g.trusted() && g.learns.IsZero() && g.who.Client.calm() {
		g.learns = time.Now().Add(max(g.lease, g.who.Client.lease))
	}
}

// relies checks that a holder which relies on a lock until now may do so. b.mu is held.
func (b *checker) relies(g *grip) {
	if late := time.Since(g.learns); !g.learns.IsZero() && late > 0 {
		b.wrong("%s has lost %s, and is not told for a lease and %s more", g.who, g.name, late)
	}
}
