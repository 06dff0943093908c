package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/sweep"
)

const (
	sweepName = "sweep"
	sweepSeed = 1 // of the order of combinations in each round
)

type sweepCommand struct {
	Grid     []string `required:"" sep:"none" help:"A flag of the scenario, and the values it takes: segments=1,4,16. Given several times, all combinations are run. Default: none, one is needed." placeholder:"FLAG=VALUE,…"`
	Rounds   int      `help:"How often each combination is run, 1 to 100; each round has an order of its own. Figures are means, from six rounds on with the interval that holds the true one with a certainty of 95%. Default: ${default}." default:"1" placeholder:"ROUNDS" least:"1" most:"100"`
	Scenario []string `arg:"" passthrough:"partial" help:"The scenario and its other flags."`
	reportFlags

	grid   sweep.Grid
	common []report.Flag // of the scenario, that all runs have
}

// scenario is its name and its flags.
func (c *sweepCommand) scenario() []string {
	if len(c.Scenario) > 0 && c.Scenario[0] == "--" {
		return c.Scenario[1:]
	}
	return c.Scenario
}

// Validate parses all command lines before anything is started.
func (c *sweepCommand) Validate() (err error) {
	if c.grid, err = sweep.ParseGrid(c.Grid); err != nil {
		return wrongFlag("--grid", err)
	}
	if len(c.scenario()) == 0 {
		return errors.New("name a scenario")
	}
	for i, point := range c.grid.Points() {
		parsed, err := c.parse(context.Background(), cli.Streams{Out: io.Discard, Err: io.Discard}, point.Arguments())
		if err == nil && i == 0 {
			err = c.checkScenario(parsed)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", point, err)
		}
	}
	return nil
}

// parse parses the scenario's command line with more flags.
func (c *sweepCommand) parse(ctx context.Context, s cli.Streams, more []string) (*kong.Context, error) {
	helped := false
	args := append(append([]string{}, c.scenario()...), more...)
	parsed, err := cli.Parse(ctx, args, s, &scenarios{}, append(options(), kong.Exit(func(int) { helped = true }))...)
	if helped {
		return nil, errors.New("--help is for the scenario alone")
	}
	return parsed, err
}

// checkScenario checks that a scenario was named, and no flag twice. It keeps the scenario's flags.
func (c *sweepCommand) checkScenario(parsed *kong.Context) error {
	node := parsed.Selected()
	if node == nil || !isScenario(node) || node.Name == sweepName {
		return fmt.Errorf("%s is no scenario to be run again and again", c.scenario()[0])
	}
	ours, err := kong.New(&reportFlags{})
	if err != nil {
		return err
	}
	given := map[string]int{}
	for _, path := range parsed.Path {
		if path.Flag != nil {
			given[path.Flag.Name]++
		}
	}
	for _, flag := range ours.Model.Flags {
		if given[flag.Name] > 0 {
			return fmt.Errorf("--%s is the sweep's: put it before the scenario", flag.Name)
		}
	}
	for _, axis := range c.grid {
		if given[axis.Flag] > 1 {
			return fmt.Errorf("--%s is in the grid, and among the scenario's flags as well", axis.Flag)
		}
	}
	c.common = flagsOf(parsed)
	return nil
}

// Run runs the scenario with each combination, and delivers the report of all.
func (c *sweepCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

func (c *sweepCommand) measure(ctx context.Context, s cli.Streams) (report.Document, error) {
	result, runs := sweep.Result{Scenario: c.scenario()[0], Grid: c.grid, Rounds: c.Rounds}, c.Rounds*len(c.grid.Points())
	result.Run(ctx, sweepSeed, func(ctx context.Context, point sweep.Point) (*report.Document, error) {
		_, _ = fmt.Fprintf(s.Err, "sweep: run %d of %d: %s\n", len(result.Runs)+1, runs, point)
		return c.once(ctx, s, point)
	})
	document, err := result.Document()
	document.Flags = append(c.flags, c.scenarioFlags()...)
	failed := result.Failed()
	switch {
	case ctx.Err() != nil: // the cause says more than the error of the last run
		err = errors.Join(err, fmt.Errorf("the sweep was stopped: %w", context.Cause(ctx)))
	case len(failed) > 0:
		err = errors.Join(err, fmt.Errorf("%d of %d runs failed, first %s", len(failed), len(result.Runs), failed[0]))
	}
	return document, err
}

// once runs the scenario as its own command line would, and reads its report.
func (c *sweepCommand) once(ctx context.Context, s cli.Streams, point sweep.Point) (*report.Document, error) {
	var out bytes.Buffer
	parsed, err := c.parse(ctx, cli.Streams{Out: &out, Err: s.Err}, append(point.Arguments(), "--json=-"))
	if err != nil {
		return nil, err
	}
	err = parsed.Run()
	if out.Len() == 0 {
		return nil, err
	}
	document, unread := report.Read(&out)
	if unread != nil {
		return nil, errors.Join(err, unread)
	}
	return &document, err
}

// scenarioFlags are the scenario's flags that are neither in the grid nor have the name of one of the sweep's.
func (c *sweepCommand) scenarioFlags() []report.Flag {
	return slices.DeleteFunc(c.common, func(flag report.Flag) bool {
		return slices.ContainsFunc(c.grid, func(a sweep.Axis) bool { return a.Flag == flag.Name }) ||
			slices.ContainsFunc(c.flags, func(own report.Flag) bool { return own.Name == flag.Name })
	})
}
