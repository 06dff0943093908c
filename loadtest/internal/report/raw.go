package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"inventory/internal/latency"
)

// Raw is what the figures of a run were made of. It is in none of the other forms.
type Raw struct {
	Columns []string
	Rows    iter.Seq[[]string]
	Waits   []Waits
}

// Waits are how long things took in some time.
type Waits struct {
	Of       string // of which contender, and of what
	From, To time.Time
	Counts   []byte // a latency.Histogram as text
}

var errNoRaw = errors.New("this scenario does not keep it")

// WriteCSV writes the rows, under their columns.
func (d Document) WriteCSV(to io.Writer) error {
	if len(d.Raw.Columns) == 0 {
		return errNoRaw
	}
	table := csv.NewWriter(to)
	err := table.Write(d.Raw.Columns)
	for row := range d.Raw.Rows {
		err = errors.Join(err, table.Write(row))
	}
	table.Flush()
	return errors.Join(err, table.Error())
}

// WriteHDR writes the waits as a log of HdrHistogram, in nanoseconds.
func (d Document) WriteHDR(to io.Writer) error {
	if len(d.Raw.Waits) == 0 {
		return errNoRaw
	}
	log := hdrhistogram.NewHistogramLogWriter(to)
	err := errors.Join(log.OutputLogFormatVersion(), log.OutputStartTime(d.Started.UnixMilli()), log.OutputLegend())
	tags := strings.NewReplacer(",", ";", " ", "_") // what divides the columns of a log
	for _, w := range d.Raw.Waits {
		var h latency.Histogram
		if err := h.UnmarshalText(w.Counts); err != nil {
			return fmt.Errorf("the waits of %s: %w", w.Of, err)
		}
		err = errors.Join(err, h.Log(log, tags.Replace(w.Of), w.From, w.To))
	}
	return err
}
