package flashsale

import (
	"context"
	"time"
)

// look is how often the stock is looked at.
const look = 250 * time.Millisecond

// sample is the stock at a time.
type sample struct {
	at       time.Duration // since the start
	left     int64
	segments []int64
}

// watchStock reads the SKU again and again. A reading that fails is missing: that the service does not answer shows
// elsewhere.
func (s *sale) watchStock(ctx context.Context, r *round) (all []sample) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return all
		case <-tick.C:
		}
		asked := time.Since(r.start)
		answer, err := s.fleet.ReadSKU(ctx, r.sku)
		if err != nil || !answer.OK() {
			continue
		}
		// The stock was that at some time in between.
		now := sample{at: (asked + time.Since(r.start)) / 2, left: answer.Body.Available}
		for _, segment := range answer.Body.Segments {
			now.segments = append(now.segments, segment.Available)
		}
		all = append(all, now)
	}
}
