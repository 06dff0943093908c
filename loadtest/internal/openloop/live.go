package openloop

import (
	"sync"
	"time"

	"inventory/internal/latency"
)

// Live is what was heard lately, for a person who watches. Its Heard goes into a Load.
type Live struct {
	at []time.Duration

	mu     sync.Mutex
	counts Counts
	waits  *latency.Histogram
}

// NewLive returns one for a load that is due at these times.
func NewLive(at []time.Duration) *Live { return &Live{at: at, waits: latency.New()} }

// Heard counts what became of a request.
func (l *Live) Heard(i int, r Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.Outcome]++
	if r.Outcome.Answered() {
		l.waits.Record(r.Over - l.at[i])
	}
}

// Take returns what was heard since the last time, and the p99 of the latency of its answers.
func (l *Live) Take() (counts Counts, p99 time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts, p99 = l.counts, l.waits.Quantile(99)
	l.counts = Counts{}
	l.waits.Reset()
	return counts, p99
}
