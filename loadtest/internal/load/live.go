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

// Show runs a load, and shows its progress each second. The run began at some instant, and is at a stage with a name.
func (s *Services) Show(ctx context.Context, l Load, to *progress.Live, began time.Time, stage func() string) *Result {
	heard, told := &live{at: l.At, waits: latency.New()}, l.OnReply
	l.OnReply = func(i int, r Reply) {
		if told != nil {
			told(i, r)
		}
		heard.note(i, r)
	}
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { heard.tell(watching, to, began, stage) })
	r := s.Run(ctx, l)
	stop()
	watcher.Wait()
	return r
}

// live is what became of a load lately.
type live struct {
	at []time.Duration

	mu     sync.Mutex
	counts Counts
	waits  *latency.Histogram
}

func (l *live) note(i int, r Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.Outcome]++
	l.waits.Record(r.Over - l.at[i])
}

// take returns the counts since the last time, and the p99 of their latency.
func (l *live) take() (counts Counts, p99 time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts, p99 = l.counts, l.waits.Quantile(99)
	l.counts = Counts{}
	l.waits.Reset()
	return counts, p99
}

// tell shows the progress until ctx ends.
func (l *live) tell(ctx context.Context, to *progress.Live, began time.Time, stage func() string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, p99 := l.take()
		to.Show(time.Since(began), fmt.Sprintf("%s%s/s, accepted %s/s, p99 %.3g ms", stage(), humanize.Comma(counts.Answered()),
			humanize.Comma(counts[Accepted]), compare.Milliseconds(p99)))
	}
}
