package segments

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Config says what to measure, where, and how long. Its worker does crowd.Work.
type Config struct {
	experiment.Config
	Lock  string // the kind of lock of the segments; "" is the service's default
	Scale Scale
}

// The cases.
const (
	matrixCase   = "segments"
	stoppedCase  = "process stopped"
	overloadCase = "overload"
)

// Names are the names of all cases.
func Names() []string { return []string{matrixCase, stoppedCase, overloadCase} }

// shop is what all cases have in common.
type shop struct {
	*crowd.Shop
	config Config
	skus   map[string][]string // of each contender of the matrix, by rounds
}

// Result is what a run measured.
type Result struct {
	experiment.Report
	config Config
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	if err := experiment.Check(Names(), c.Cases); err != nil {
		return Result{}, err
	}
	if c.Lock == "" {
		c.Lock = app.LockReentrant
	}
	on, err := crowd.OpenShop(ctx, c.URLs, c.Worker, "segments_", app.Config{Lock: c.Lock})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	s := &shop{on, c, map[string][]string{}}
	result = Result{c.Begin("segments", on.Servers), c}
	result.Environment.Measurement = append(result.Environment.Measurement,
		fmt.Sprintf("rounds: up to %d of %s after %s of warm-up, %d callers in all, lock %s", c.Scale.Rounds, c.Scale.Window, c.Scale.WarmUp, c.Scale.Callers, c.Lock))
	err = result.Ask(ctx, c.Config, []experiment.Asked{{Name: matrixCase, Ask: s.matrix}, {Name: stoppedCase, Ask: s.stopped}, {Name: overloadCase, Ask: s.overload}})
	s.audit(ctx, &result)
	return result, err
}

// play plays a case whose rounds take that long.
func (s *shop) play(ctx context.Context, c experiment.Case, rounds int, window time.Duration) (experiment.Result, error) {
	return experiment.Run(ctx, c, s.config.Rules(window, rounds)), nil
}

// audit audits, and adds the merges.
func (s *shop) audit(ctx context.Context, result *Result) {
	audit, wrong := s.Audit(ctx)
	result.SKUs, result.Wrong = len(audit.SKUs), wrong
	merged := map[string]float64{}
	for _, b := range audit.SKUs {
		merged[b.SKU] = float64(b.Merges)
	}
	if r := result.Result(matrixCase); r != nil {
		for i, round := range r.Rounds {
			for name, sample := range round {
				sample[merges] = merged[s.skus[name][i]]
			}
		}
	}
}

// Document is the report.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	own := map[string]any{
		"segments": []any{}, "stopped": nil, "overload": nil, "skus_audited": r.SKUs,
		"rounds": r.config.Scale.Rounds, "window_seconds": r.config.Scale.Window.Seconds(), "callers": r.config.Scale.Callers, "lock": r.config.Lock,
	}
	if unfinished := r.Unfinished(); unfinished != "" {
		own["unfinished"] = unfinished
	}
	if one := r.Result(matrixCase); one != nil {
		own["segments"] = one.Entries()
	}
	for _, name := range []string{stoppedCase, overloadCase} {
		if one := r.Result(name); one != nil && len(one.Rounds) > 0 {
			entry := one.Entry(one.Case.Contenders[0])
			entry["segments"] = r.config.Scale.Default
			if name == stoppedCase {
				entry["stopped_seconds"] = r.config.Scale.Still.Seconds()
				entry["two_processes_per_second"] = one.Of(twoAlone, while).Value
			}
			own[strings.TrimPrefix(name, "process ")] = entry
		}
	}
	return d, d.SetOwn(own)
}
