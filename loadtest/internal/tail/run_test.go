package tail

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"inventory/internal/app"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// tiny is hardly anything. The test starts itself as the processes.
func tiny(t *testing.T) Config {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Lock: app.LockFair, Seed: 1, Rounds: 1, Stock: 100_000, Segments: 8, Rate: 300,
		Process: target.Process{Command: []string{program, asWorker}, Logs: io.Discard}, Progress: io.Discard,
	}
}

// killing plays tails of other seeds until a process was killed. On a busy machine the last unit may be sold before a process
// is stopped that still holds its lock.
func killing(t *testing.T, c Config) *Tail {
	t.Helper()
	const seeds = 5
	for c.Seed = 1; c.Seed <= seeds; c.Seed++ {
		result, err := Run(t.Context(), c)
		if err != nil || result.Err() != nil || len(result.Found.Violations) > 0 || len(result.Rows.SKUs) != 2 || len(result.rounds) != 2 {
			t.Fatalf("seed %d: %v, %v: %+v", c.Seed, err, result.Err(), result)
		}
		if result.of(true)[0].Strike != nil {
			return result
		}
	}
	t.Fatalf("nobody was killed in the tails of the seeds 1 to %d", seeds)
	return nil
}

// TestATail sells tails, and kills a process that holds a lock in one of them.
func TestATail(t *testing.T) {
	t.Parallel()
	c := tiny(t)
	result := killing(t, c)
	for _, r := range result.rounds {
		var before float64
		for _, units := range r.Segments {
			before += units
		}
		if len(r.Segments) != c.Segments || int64(before) != c.Stock/part || slices.Min(r.Segments) == slices.Max(r.Segments) {
			t.Errorf("%s: the tail begins with %v", titles(r.Killed), r.Segments)
		}
		if r.SoldUnits != c.Stock/part || r.Left != 0 || r.Stranded != 0 || r.FalseRefusals != 0 || r.NeverTold != 0 || r.LastUnit <= 0 {
			t.Errorf("%s: %+v", titles(r.Killed), r)
		}
		if r.SoldOut == 0 || r.LongestGap <= 0 || r.Before.P99 <= 0 || r.After.Max < r.After.P99 || r.LockWaits == 0 {
			t.Errorf("%s: %+v", titles(r.Killed), r)
		}
	}
	calm, killed := result.of(false)[0], result.of(true)[0]
	if calm.Strike != nil || calm.InFlight.Count+calm.SentToTheDead.Count+calm.SentElsewhere != 0 {
		t.Errorf("nobody was killed: %+v", calm)
	}
	if k := killed.Strike; k == nil || !k.Held || k.LeaseLeft <= 0 || k.LeaseLeft > 5 || killed.SentElsewhere == 0 {
		t.Errorf("the holder was not killed with its lock: %+v, %+v", k, killed)
	}
	wantDocument(t, result)
}

// wantDocument demands that the report can be written, and shows the kill.
func wantDocument(t *testing.T, result *Tail) {
	t.Helper()
	d, err := result.Document()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := d.Print(&text); err != nil || !strings.Contains(text.String(), "audit: OK") {
		t.Errorf("%v:\n%s", err, &text)
	}
	plots := map[string]report.Plot{}
	for _, s := range d.Sections {
		for _, p := range s.Plots {
			plots[p.Name] = p
			for _, series := range p.Series {
				if len(series.X) == 0 || len(series.X) != len(series.Y) {
					t.Errorf("plot %s, series %s: %d points at %d moments", p.Name, series.Name, len(series.Y), len(series.X))
				}
			}
		}
	}
	for _, name := range []string{"tail-latency", "tail-sales", "tail-lock-wait", "tail-merges", "tail-segments-killed"} {
		if p := plots[name]; len(p.Marks) < 2 || p.Marks[0].Label != "a holder killed" || p.Marks[0].X <= 0 {
			t.Errorf("plot %q has the marks %v", name, p.Marks)
		}
	}
	if units := plots["tail-segments-calm"]; len(units.Series) != result.Segments {
		t.Errorf("%d segments are shown", len(units.Series))
	}
}

// onText does something when a text is written.
type onText struct {
	text string
	do   func()
}

func (w onText) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.do()
	}
	return len(p), nil
}

// TestAnInterruptKeepsWhatWasOver ends the run in its second round, which takes long enough to report progress.
func TestAnInterruptKeepsWhatWasOver(t *testing.T) {
	t.Parallel()
	c := tiny(t)
	c.Lock, c.Rounds, c.Rate = app.LockNone, 2, 100
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	c.Progress = onText{"tail-1-killed", interrupt}
	result, err := Run(ctx, c)
	if err != nil || !result.Interrupted() || len(result.rounds) != 1 || len(result.Found.Violations) > 0 || result.Err() == nil {
		t.Fatalf("%v, %v: %+v", err, result.Err(), result)
	}
	if d, err := result.Document(); err != nil || !d.Interrupted || len(d.Sections) == 0 {
		t.Errorf("%v: %+v", err, d)
	}
}
