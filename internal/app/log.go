package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// The bounds of repeated failures. While a database is away every request fails, and would flood the log.
const (
	sampleFirst  = 10               // failures with one message that are logged
	sampleWithin = 10 * time.Second // and in this time; the others are counted
	sampleKinds  = 1000             // different messages
)

// quiet is a handler that keeps a log readable while much fails. Failures that an outage explains become details. Of others
// that repeat it logs the first ones, and counts the rest. Lines below warnings pass.
type quiet struct {
	slog.Handler
	repeats *repeats
	outage  *outage
}

func newQuiet(to slog.Handler, outage *outage) quiet {
	return quiet{to, &repeats{lines: make(map[string]int)}, outage}
}

// Handle logs a line, or counts it.
func (q quiet) Handle(ctx context.Context, line slog.Record) error {
	if q.outage.explains(line) {
		if line.Level = slog.LevelDebug; !q.Enabled(ctx, line.Level) {
			return nil
		}
	}
	if line.Level >= slog.LevelWarn && q.repeats.count(line.Message) > sampleFirst {
		return nil
	}
	return q.Handler.Handle(ctx, line)
}

// WithAttrs returns a handler with attributes, which counts together with this one.
func (q quiet) WithAttrs(attributes []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attributes), q.repeats, q.outage}
}

// WithGroup returns a handler with a group, which counts together with this one.
func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.repeats, q.outage}
}

// repeats counts lines by their messages, since the last report.
type repeats struct {
	mu    sync.Mutex
	lines map[string]int
}

// count counts a line, and returns how many there are with its message; 0 if there are too many messages.
func (r *repeats) count(message string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.lines[message]; known || len(r.lines) < sampleKinds {
		r.lines[message]++
	}
	return r.lines[message]
}

// report logs how many lines of each message were left out, and counts from 0 again.
func (q quiet) report() {
	q.repeats.mu.Lock()
	lines := q.repeats.lines
	q.repeats.lines = make(map[string]int)
	q.repeats.mu.Unlock()
	for message, n := range lines {
		if n > sampleFirst {
			slog.New(q.Handler).Warn(message, "repeated", n-sampleFirst)
		}
	}
}

const (
	outageProbe = time.Second     // between probes, and for the answer to one: less than a request waits for its statement
	outageAfter = 4 * time.Second // for this long after a failed probe, requests fail for its reason: until the next ones, and a bit longer
)

// outage knows from a probe a second whether PostgreSQL is there. It warns when an outage begins, reports its end, and keeps
// the failures of single requests meanwhile out of the log.
type outage struct {
	warnings *warnings
	ready    func(context.Context) error // nil: nothing is probed, as with a SQLite file, to which a probe writes
	failed   atomic.Int64                // when a probe last failed, in Unix nanoseconds
}

// probe asks PostgreSQL whether it is there. One that is there and takes no writes is no outage.
func (o *outage) probe(ctx context.Context) (there bool) {
	if o.ready == nil {
		return true
	}
	asking, cancel := context.WithTimeout(ctx, outageProbe)
	defer cancel()
	err := o.ready(asking)
	switch {
	case err == nil, errors.Is(err, stock.ErrNotWritable):
		o.warnings.end("database_fails")
		return true
	case ctx.Err() == nil:
		o.failed.Store(time.Now().UnixNano())
		o.warnings.begin("database_fails", "PostgreSQL fails or does not answer in time; requests that need it get 503", "error", err)
	}
	return false
}

// explains reports whether an outage is the reason for a failure that is logged now.
func (o *outage) explains(line slog.Record) (unavailable bool) {
	if line.Level != slog.LevelWarn || time.Since(time.Unix(0, o.failed.Load())) > outageAfter {
		return false
	}
	line.Attrs(func(a slog.Attr) bool {
		err, is := a.Value.Any().(error)
		unavailable = is && stock.CodeOf(err) == stock.CodeUnavailable
		return !unavailable
	})
	return unavailable
}

// watch probes the database, and reports what was left out, until ctx ends.
func (q quiet) watch(ctx context.Context) {
	probes, reports := time.NewTicker(outageProbe), time.NewTicker(sampleWithin)
	defer probes.Stop()
	defer reports.Stop()
	for {
		select {
		case <-probes.C:
			q.outage.probe(ctx)
		case <-reports.C:
			q.report()
		case <-ctx.Done():
			q.report()
			return
		}
	}
}
