package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/report"
)

// Stock is what a SKU has left at a moment.
type Stock struct {
	At       time.Duration // since the load began
	Left     float64
	Segments []float64
}

// Stock reads what a SKU has left, by one process. The time is the middle between question and answer.
func (s *Services) Stock(process int, sku string, start time.Time) (Stock, error) {
	asked := time.Since(start)
	var view client.SKU
	if err := s.Get(process, "/v1/skus/"+sku, &view); err != nil {
		return Stock{}, fmt.Errorf("read what is left of SKU %s: %w", sku, err)
	}
	now := Stock{At: (asked + time.Since(start)) / 2, Left: float64(view.Available)}
	for _, segment := range view.Segments {
		now.Segments = append(now.Segments, float64(segment.Available))
	}
	return now, nil
}

// WatchStock reads it again and again until ctx ends, and once more then. A reading that fails is left out: failures of the service
// show elsewhere.
func (s *Services) WatchStock(ctx context.Context, process int, sku string, start time.Time, every time.Duration) (all []Stock) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for over := false; ; {
		if now, err := s.Stock(process, sku, start); err == nil {
			all = append(all, now)
		}
		if over {
			return all
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			over = true
		}
	}
}

// mostLines is how many segments get a line of their own.
const mostLines = 12

// SegmentLines are a line for each segment, or for the least, the median and the most where they are many.
func SegmentLines(all []Stock) (lines []report.Series) {
	for _, stock := range all {
		name, units := func(n int) string { return fmt.Sprint("segment ", n) }, stock.Segments
		if n := len(units); n > mostLines {
			sorted := slices.Sorted(slices.Values(units))
			name, units = func(n int) string { return []string{"least", "median", "most"}[n] }, []float64{sorted[0], sorted[n/2], sorted[n-1]}
		}
		for n, value := range units {
			if n == len(lines) {
				lines = append(lines, report.Series{Name: name(n)})
			}
			lines[n].X, lines[n].Y = append(lines[n].X, stock.At.Seconds()), append(lines[n].Y, value)
		}
	}
	return lines
}
