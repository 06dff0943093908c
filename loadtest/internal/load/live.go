package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/internal/progress"
	"inventory/loadtest/internal/compare"
)

// Live tells a person how a load gets on. Its Heard goes into the load.
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
	l.waits.Record(r.Over - l.at[i])
}

// take returns what was heard since the last time, and the p99 of its latency.
func (l *Live) take() (counts Counts, p99 time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts, p99 = l.counts, l.waits.Quantile(99)
	l.counts = Counts{}
	l.waits.Reset()
	return counts, p99
}

// Tell shows each second how the load gets on, until ctx ends. A run that began at some instant is at a stage with a name.
func (l *Live) Tell(ctx context.Context, to *progress.Live, began time.Time, stage func() string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, p99 := l.take()
		to.Tell(time.Since(began), fmt.Sprintf("%s%s/s, accepted %s/s, p99 %.3g ms", stage(), humanize.Comma(counts.Answered()),
			humanize.Comma(counts[Accepted]), compare.Milliseconds(p99)))
	}
}
