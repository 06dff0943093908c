package load

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// Phase is a time in which requests are due at a rate.
type Phase struct {
	Name   string
	Rate   float64 // requests a second
	Length time.Duration
}

// Spacing is how the requests of a rate lie in time.
type Spacing string

// The spacings.
const (
	Poisson Spacing = "poisson" // independent of one another
	Even    Spacing = "even"
)

// Times returns when each request is due, since the beginning, in order. It is a pure function of its arguments.
//
// Requests come at a rate of one in units of time of which a phase has as many as it expects requests. Steps are equal or
// exponentially distributed, and what is left of one is taken over into the next phase.
func Times(seed uint64, spacing Spacing, phases []Phase) []time.Duration {
	step, next := func() float64 { return 1 }, 0.5
	if spacing == Poisson {
		step = NewRandom(seed, "arrivals").ExpFloat64
		next = step()
	}
	at := make([]time.Duration, 0, int(Expected(phases))+1)
	var began time.Duration
	var before float64 // units of the phases before
	for _, p := range phases {
		units := p.expected()
		for ; next < before+units; next += step() {
			at = append(at, began+min(time.Duration((next-before)/p.Rate*float64(time.Second)), p.Length-1))
		}
		began += p.Length
		before += units
	}
	return at
}

// expected is how many requests a phase has in the mean.
func (p Phase) expected() float64 { return p.Rate * p.Length.Seconds() }

// Expected is how many requests the phases have in the mean.
func Expected(phases []Phase) (n float64) {
	for _, p := range phases {
		n += p.expected()
	}
	return n
}

// Length is that of all phases.
func Length(phases []Phase) (all time.Duration) {
	for _, p := range phases {
		all += p.Length
	}
	return all
}

// NewRandom is a source for one purpose, which is independent of how much is drawn for others.
func NewRandom(seed uint64, purpose string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64([]byte(purpose), seed))))
}

// NewID is a random id, as buyers make them: ids in sequence would be neighbours in an index.
func NewID(random *rand.Rand) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // of RFC 9562
	return id.String()
}
