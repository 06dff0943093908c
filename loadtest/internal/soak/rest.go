package soak

import (
	"context"
	"time"

	"inventory/loadtest/internal/gauges"
)

const (
	// restWithin is how long a service may take, after the last request, to end what it has started for requests. Its own
	// helpers end some seconds after their last work.
	restWithin = 30 * time.Second
	// lookEvery is how often it is looked at meanwhile.
	lookEvery = 100 * time.Millisecond
)

// rest waits until the service has given back the goroutines of the run, and returns how many it had before and has now. They
// are 0 where they are not known: without metrics, and if ctx ends.
func (s *Soak) rest(ctx context.Context) (before, after float64) {
	_, counts := s.readings.Goroutines()
	if len(counts) == 0 {
		return 0, 0
	}
	before = counts[0] // all connections are there by then
	ctx, cancel := context.WithTimeout(ctx, restWithin)
	defer cancel()
	sources := gauges.Sources{ServiceMetricsURLs: gauges.Of(s.to).ServiceMetricsURLs}
	for {
		if _, counts := gauges.Start(ctx, sources, restWithin).Stop().Goroutines(); len(counts) > 0 {
			after = counts[len(counts)-1]
		}
		if after > 0 && after <= mostGoroutines*before {
			return before, after
		}
		select {
		case <-ctx.Done():
			return before, after
		case <-time.After(lookEvery):
		}
	}
}
