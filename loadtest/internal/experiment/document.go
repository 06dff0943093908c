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
	report.Document
	Results []Result
}

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
	r.Document = report.Document{Scenario: scenario, Seed: c.Seed, Started: time.Now(), Environment: on.About, Warnings: on.Warnings}
	err = r.ask(ctx, c, all)
	r.Elapsed = time.Since(r.Started).Seconds()
	r.tell(on.LeftOut)
	return r, err
}

// ask plays the wanted cases.
func (r *Report) ask(ctx context.Context, c Config, all []Asked) error {
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

// tell adds all cases to the report. What must not happen is that a contender of ours fails, or that rows do not add up; a missed
// target is a result.
func (r *Report) tell(leftOut []string) {
	var sentences []string
	for _, one := range r.Results {
		r.Sections = append(r.Sections, one.Section(one.Name))
		for _, wrong := range one.wrong() {
			r.Wrong = append(r.Wrong, fmt.Sprintf("case %q: %s", one.Name, wrong))
		}
		sentences = append(sentences, one.sentences()...)
	}
	r.Summary = slices.Concat([]string{report.Verdict(r.Targets())}, sentences, leftOut)
}
