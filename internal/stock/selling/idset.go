package selling

import (
	"hash/maphash"
	"math/bits"
)

// idSet holds order ids as hashes. It always finds its own ids. With a million ids it takes a foreign id for its own once in
// 10^13 lookups. The seed is random, so that callers cannot choose ids that collide.
type idSet struct {
	seed   maphash.Seed
	hashes []uint64 // in the order of add; nil once indexed
	table  []uint64 // open addressing: a hash is at its slot or the next free one; 0 is free; a third is free
	n      int
}

func newIDSet() *idSet { return &idSet{seed: maphash.MakeSeed()} }

// add adds an id. It must not be called after index.
func (s *idSet) add(id []byte) {
	s.hashes = append(s.hashes, max(1, maphash.Bytes(s.seed, id)))
	s.n++
}

// index makes the set ready for has, which then costs one cache miss. Sorted hashes would take a third less memory, and cost
// twenty misses.
func (s *idSet) index() {
	s.table = make([]uint64, s.n+s.n/2+1)
	for _, hash := range s.hashes {
		s.table[s.find(hash)] = hash
	}
	s.hashes = nil
}

func (s *idSet) has(id string) bool { return s.table[s.find(max(1, maphash.String(s.seed, id)))] != 0 }

// find returns where a hash is, or the free slot where it would be.
func (s *idSet) find(hash uint64) int {
	high, _ := bits.Mul64(hash, uint64(len(s.table)))
	slot := int(high) //nolint:gosec // less than the table's length
	for s.table[slot] != 0 && s.table[slot] != hash {
		if slot++; slot == len(s.table) {
			slot = 0
		}
	}
	return slot
}
