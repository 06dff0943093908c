package locksim

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// server is Redis with a clock of its own, which may run a little fast or slow, and may jump.
type server struct {
	id    int
	redis *miniredis.Miniredis
	begin time.Time
	drift float64       // its clock gains that much
	jump  time.Duration // how far it has been set forward or back
	ahead time.Duration // how far forward

	down        bool
	pausedUntil time.Time
	forgot      time.Time // when it last lost locks; under checker.mu
}

func newServer(id int, drift float64) *server {
	s := &server{id: id, redis: miniredis.NewMiniRedis(), begin: time.Now(), drift: drift}
	s.redis.SetTime(s.now())
	s.redis.ClockTTL(true)
	return s
}

// String names it.
func (s *server) String() string { return fmt.Sprintf("s%d", s.id) }

// now is what its clock shows.
func (s *server) now() time.Time {
	passed := time.Since(s.begin)
	return s.begin.Add(passed + time.Duration(s.drift*float64(passed)) + s.jump)
}

// setClock lets the time go on: scripts and expiries see the moment of the last call.
func (s *server) setClock() { s.redis.SetTime(s.now()) }

// step sets the clock. What had to expire until now does; a step back prolongs no lease here, while it does
// on a real Redis, which notes moments.
func (s *server) step(d time.Duration) {
	s.setClock()
	s.redis.Keys()
	s.jump += d
	s.setClock()
}

// digest is how Redis names a script.
func digest(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
