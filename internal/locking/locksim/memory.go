package locksim

import (
	"slices"
	"time"
)

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

// kept tells whether a hold's servers remember enough of it for all that is promised: of the k that carry its token
// fewer than k + q - n have forgotten since it was asked for, where a quorum is q of n. So the only one must not.
// b.mu is held.
func (b *checker) kept(g *grip) bool {
	forgot := 0
	for _, s := range g.carriers {
		if !s.forgot.Before(g.asked) {
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
func (b *checker) outgrown(g *grip) bool { return !isRed(g.name) || b.kept(g) }

// allKept tells whether all holds of a lock are kept. b.mu is held.
func (b *checker) allKept(name string) bool {
	return !slices.ContainsFunc(b.entry(name).grips, func(g *grip) bool { return !b.kept(g) })
}

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
