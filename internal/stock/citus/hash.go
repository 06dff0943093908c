package citus

import "encoding/binary"

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

func rotate(x uint32, n int) uint32 { return x<<n | x>>(32-n) }

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a -= c
	a ^= rotate(c, 4)
	c += b
	b -= a
	b ^= rotate(a, 6)
	a += c
	c -= b
	c ^= rotate(b, 8)
	b += a
	a -= c
	a ^= rotate(c, 16)
	c += b
	b -= a
	b ^= rotate(a, 19)
	a += c
	c -= b
	c ^= rotate(b, 4)
	b += a
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	c ^= b
	c -= rotate(b, 14)
	a ^= c
	a -= rotate(c, 11)
	b ^= a
	b -= rotate(a, 25)
	c ^= b
	c -= rotate(b, 16)
	a ^= c
	a -= rotate(c, 4)
	b ^= a
	b -= rotate(a, 14)
	c ^= b
	c -= rotate(b, 24)
	return c
}
