package locksim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// stuck notes that somebody still waits after everything was in order for long enough.
func (b *checker) stuck(limit time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, e := range b.names {
		for who, n := range e.asking {
			if n > 0 {
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

// noteLease notes a lease that somebody asks for.
func (b *checker) noteLease(lease time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.longest = max(b.longest, lease)
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

// keys returns what is there, on any server. The history has ended.
func (w *World) keys() []string {
	answer := make(chan []string)
	w.At(0, func(w *World, _ *server) {
		var keys []string
		for _, s := range w.servers {
			s.setClock()
			keys = append(keys, s.redis.Keys()...)
		}
		answer <- keys
	})
	return <-answer
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

// Held returns how often each owner has a mutex by the first server's books; nil when nobody has it.
func (w *World) Held(name string) map[string]int {
	answer := make(chan map[string]int)
	w.At(0, func(_ *World, s *server) {
		s.setClock()
		answer <- s.held(name)
	})
	return <-answer
}

// held is Held on the agenda.
func (s *server) held(name string) map[string]int {
	for _, key := range s.redis.Keys() {
		if roleAndName(key) != "m:"+name {
			continue
		}
		fields, err := s.redis.HKeys(key)
		if err != nil || slices.Contains(fields, "claim") {
			return nil // reserved for somebody, and free
		}
		held := make(map[string]int)
		for _, field := range fields {
			if !slices.Contains([]string{"seq", "token"}, field) {
				held[ownerOf(field)], _ = strconv.Atoi(s.redis.HGet(key, field))
			}
		}
		return held
	}
	return nil
}

// Queued returns how many stand in the queue of a mutex at the first server.
func (w *World) Queued(name string) int {
	answer := make(chan int)
	w.At(0, func(_ *World, s *server) {
		s.setClock()
		n := 0
		for _, key := range s.redis.Keys() {
			if roleAndName(key) == "mq:"+name {
				members, _ := s.redis.ZMembers(key) // it is gone, which is none
				n = len(members)
			}
		}
		answer <- n
	})
	return <-answer
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
