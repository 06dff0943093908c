package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Narrow is how many times its low end the high end of an interval may be: none need be narrower.
const Narrow = 1.05

// Config says what a comparison asks, and where.
type Config struct {
	servers.URLs
	Seed     uint64            // of the order of contenders in each round
	Cases    []string          // names; none: all
	Progress func(name string) // is called as a case begins
}

// Rules are the rules of a case that plays rounds until every figure is narrow enough.
func (c Config) Rules(window time.Duration, rounds int) Rules {
	return Rules{Seed: c.Seed, Window: window, Rounds: rounds, Narrow: Narrow}
}

// Report has the results of several cases.
type Report struct {
	Scenario    string
	Results     []Result
	Seed        uint64    // of the order of contenders
	Started     time.Time // zero: nothing could be measured
	Elapsed     time.Duration
	Interrupted bool
	Environment report.Environment
	Warnings    []string
	LeftOut     []string // cases and contenders, with the reason
}

// Began reports whether anything could be measured.
func (r Report) Began() bool { return !r.Started.IsZero() }

// Asked is a case to be played.
type Asked struct {
	Name string
	Ask  func(ctx context.Context) (Result, error)
}

// Check checks the names of cases.
func Check(known, wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no case %q; there are %q", name, known)
		}
	}
	return nil
}

// Compare opens servers, and plays the wanted cases on them one after the other, until ctx ends or a case fails. With an error it
// returns what was measured until then.
func Compare(ctx context.Context, c Config, scenario string, needs servers.Needs, cases func(on *servers.Servers) ([]Asked, error)) (r Report, err error) {
	on, err := servers.Prepare(ctx, c.URLs, needs)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	all, err := cases(on)
	if err != nil {
		return Report{}, err
	}
	r = Report{Scenario: scenario, Seed: c.Seed, Started: time.Now(), Environment: on.About, Warnings: on.Warnings, LeftOut: on.LeftOut}
	return r, r.ask(ctx, c, all)
}

func (r *Report) ask(ctx context.Context, c Config, all []Asked) error {
	defer func() { r.Elapsed = time.Since(r.Started) }()
	for _, a := range all {
		if len(c.Cases) > 0 && !slices.Contains(c.Cases, a.Name) {
			continue
		}
		c.Progress(a.Name)
		result, err := a.Ask(ctx)
		r.Interrupted = ctx.Err() != nil
		if len(result.Case.Contenders) > 0 {
			result.Name, result.Interrupted = a.Name, r.Interrupted
			r.Results = append(r.Results, result)
		}
		switch {
		case r.Interrupted: // err is only its consequence
			return fmt.Errorf("the comparison was stopped: %w", context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("case %q: %w", a.Name, err)
		}
	}
	return nil
}

// Targets are the targets of all cases.
func (r Report) Targets() []report.Target {
	all := []report.Target{}
	for _, one := range r.Results {
		all = append(all, one.Targets()...)
	}
	return all
}

// Err is what must not happen: a contender of ours fails, or rows do not add up. A missed target is a result.
func (r Report) Err() error {
	var errs []error
	for _, one := range r.Results {
		if err := one.Err(); err != nil {
			errs = append(errs, fmt.Errorf("case %q: %w", one.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Document is the report of all cases.
func (r Report) Document() (report.Document, error) {
	d := report.Document{
		Scenario: r.Scenario, Started: r.Started, Elapsed: r.Elapsed.Seconds(), Interrupted: r.Interrupted, Seed: r.Seed,
		Environment: r.Environment, Warnings: r.Warnings,
	}
	d.Summary = append(d.Summary, report.Verdict(r.Targets()))
	for _, one := range r.Results {
		d.Sections, d.Wrong = append(d.Sections, one.Section(one.Name)), append(d.Wrong, one.Wrong...)
		d.Summary = append(d.Summary, one.sentences()...)
	}
	d.Summary = append(d.Summary, r.LeftOut...)
	d.AuditOK = len(d.Wrong) == 0
	return d, nil
}
