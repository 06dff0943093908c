package locksim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A place is where a waiter stands in the queue of a first-come lock at the server.
type place struct {
	waiter string
	score  float64
	reads  bool
}

// queue returns who waits for a first-come lock on the first server, in the order of their arrival.
func (w *World) queue(bucket, role, rest string) []place {
	var all []place
	for suffix, reads := range map[string]bool{"q": false, "s": true} {
		key := bucket + "}:" + role + suffix + rest
		if !w.servers[0].redis.Exists(key) {
			continue
		}
		scores, err := w.servers[0].redis.SortedSet(key)
		if err != nil {
			continue // it has expired just now
		}
		for _, waiter := range slices.Sorted(maps.Keys(scores)) {
			all = append(all, place{waiter, scores[waiter], reads})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.score, b.score) })
	return all
}

// checkOrder checks who is let in to a first-come lock: the first that waits, or a reader before whom only
// readers wait. It is only asked while nobody dies, so that nobody may be passed over. b.mu is held.
func (b *checker) checkOrder(q *Request, answer []byte) {
	if q.Verb != "fifo_acquire" || len(answer) == 0 || answer[0] != '$' {
		return // not granted
	}
	// The name of the script and the number of keys come before the nine keys.
	state, arguments := q.Words[0][4], q.Words[0][12:]
	me, reading, holder, inside := arguments[0]+":"+arguments[7], arguments[2] == "read", arguments[3], arguments[6]
	role, name, _ := strings.Cut(roleAndName(state), ":")
	again := b.admitted[holder] == string(answer) // a copy, or a question after an answer that was lost
	b.admitted[holder] = string(answer)
	if again || inside != "" || arguments[9] != "" || b.holds(ownerOf(holder), lockName(role, name)) {
		return
	}
	for _, other := range b.queues[state] {
		if other.waiter == me {
			return
		}
		if !reading || !other.reads {
			b.wrong("%s enters %s before %s, who came earlier", me, name, other.waiter)
			return
		}
	}
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

// noteQueue remembers who waits for the first-come lock of a request. b.mu is held.
func (b *checker) noteQueue(q *Request) {
	for _, list := range q.Words {
		for _, word := range list {
			bucket, rest, ok := strings.Cut(word, "}:")
			role, _, _ := strings.Cut(roleAndName(word), ":")
			if ok && (role == "f" || role == "rw") {
				b.queues[word] = b.world.queue(bucket, role, strings.TrimPrefix(rest, role))
			}
		}
	}
}
