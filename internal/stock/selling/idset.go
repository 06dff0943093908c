package selling

import (
	"hash/maphash"
	"math/bits"
)

// idSet holds order ids as hashes. It never misses one of its ids, and takes another for one of them once in 10^13
// asked of a million. Its seed is its own, so that nobody can choose ids that collide.
type idSet struct {
	seed   maphash.Seed
	hashes []uint64 // as they came; nil once indexed
	table  []uint64 // each at its slot or soon after it, 0 where there is none; a third is free
	n      int
}

func newIDSet() *idSet { return &idSet{seed: maphash.MakeSeed()} }

// add is for before index.
func (s *idSet) add(id []byte) {
	s.hashes = append(s.hashes, max(1, maphash.Bytes(s.seed, id)))
	s.n++
}

// index makes the set ready for has, which then costs one miss of the cache. Sorted hashes would be a third smaller,
// and cost twenty.
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
