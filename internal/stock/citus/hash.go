package citus

import (
	"encoding/binary"
	"math/bits"
)

// hash is PostgreSQL's hash of a text whose collation compares bytes (hash_bytes, by Bob Jenkins' lookup3). A key is in the
// shard whose range has its hash. So no node has to be queried for the shard. A test compares hash with the server's.
func hash(key string) int32 {
	k := []byte(key)
	a := 0x9e3779b9 + uint32(len(k)) + 3923095 //nolint:gosec // keys are short
	b, c := a, a
	for ; len(k) >= 12; k = k[12:] {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
		a, b, c = mix(a, b, c)
	}
	var rest [12]byte // the lowest byte of c is taken by the length
	copy(rest[:], k[:min(len(k), 8)])
	if len(k) > 8 {
		copy(rest[9:], k[8:])
	}
	a += binary.LittleEndian.Uint32(rest[0:])
	b += binary.LittleEndian.Uint32(rest[4:])
	c += binary.LittleEndian.Uint32(rest[8:])
	return int32(final(a, b, c)) //nolint:gosec // the same bits
}

// mix and final go round the three words: each step changes one of them, and the next step the next one.
func mix(a, b, c uint32) (uint32, uint32, uint32) {
	for _, by := range []int{4, 6, 8, 16, 19, 4} {
		a = (a - c) ^ bits.RotateLeft32(c, by)
		a, b, c = b, c+b, a
	}
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	for _, by := range []int{14, 11, 25, 16, 4, 14, 24} {
		c = (c ^ b) - bits.RotateLeft32(b, by)
		a, b, c = b, c, a
	}
	return b
}
