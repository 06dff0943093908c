// Package latency collects how long answers took.
package latency

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the longest time that a histogram can hold; a longer time counts as this one.
const longest = 10 * time.Minute

// Histogram counts times to a microsecond, or to three digits if that is coarser. It is not safe for concurrent use.
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

// Add adds the counts of other.
func (h *Histogram) Add(other *Histogram) { h.counts.Merge(other.counts) }

// Reset forgets all counts.
func (h *Histogram) Reset() { h.counts.Reset() }

// Count returns the number of recorded times.
func (h *Histogram) Count() int64 { return h.counts.TotalCount() }

// Quantile returns the time that a share of all times, 0 to 100 percent, does not exceed.
func (h *Histogram) Quantile(percent float64) time.Duration {
	return time.Duration(h.counts.ValueAtQuantile(percent)) * time.Microsecond
}

// Max returns the longest time.
func (h *Histogram) Max() time.Duration { return time.Duration(h.counts.Max()) * time.Microsecond }

// MarshalText returns all counts, for another process.
func (h *Histogram) MarshalText() ([]byte, error) {
	text, err := h.counts.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encode a histogram: %w", err)
	}
	return text, nil
}

// UnmarshalText replaces all counts by those of another process.
func (h *Histogram) UnmarshalText(text []byte) error {
	counts, err := hdrhistogram.Decode(text)
	if err != nil {
		return fmt.Errorf("decode a histogram: %w", err)
	}
	h.counts = counts
	return nil
}
