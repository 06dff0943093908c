// Package latency collects how long answers took.
package latency

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is what a histogram can tell apart; what took longer counts as this.
const longest = 10 * time.Minute

// Histogram counts times to a microsecond, or three digits where that is less. It is not safe for concurrent use.
type Histogram struct{ counts *hdrhistogram.Histogram }

// New returns an empty histogram.
func New() *Histogram {
	return &Histogram{hdrhistogram.New(1, longest.Microseconds(), 3)}
}

// Record counts a time.
func (h *Histogram) Record(took time.Duration) {
	// Within these bounds it cannot fail.
	_ = h.counts.RecordValue(min(max(took, time.Microsecond), longest).Microseconds())
}

// Add counts all that other has counted.
func (h *Histogram) Add(other *Histogram) { h.counts.Merge(other.counts) }

// Count is the number of recorded times.
func (h *Histogram) Count() int64 { return h.counts.TotalCount() }

// Quantile is the time that a share of all, 0 to 100 percent, stayed within.
func (h *Histogram) Quantile(percent float64) time.Duration {
	return time.Duration(h.counts.ValueAtQuantile(percent)) * time.Microsecond
}

// Max is the longest time.
func (h *Histogram) Max() time.Duration { return time.Duration(h.counts.Max()) * time.Microsecond }
