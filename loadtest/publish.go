package main

import (
	"fmt"

	"inventory/internal/cli"
	"inventory/loadtest/internal/publish"
)

type publishCommand struct {
	Into    []string `help:"Documents, separated by commas. The first that has the lines <!-- SCENARIO: begin --> and <!-- SCENARIO: end --> gets the sentences, the first table and the targets of the report that are not met, and a table between <!-- SCENARIO: SECTION: begin --> and such an end. Default: ${default}, from the root of the repository. All tables go into the folder benchmarks beside the first." default:"docs/BENCHMARKS.md,docs/SCALE.md" placeholder:"FILE"`
	Readme  string   `help:"Document that gets the sentences alone, between the same lines, where it has them. Default: ${default}." default:"README.md" placeholder:"FILE"`
	Plots   string   `help:"Folder that gets the plots as SVG, in a folder for each scenario. Default: ${default}." default:"docs/plots" placeholder:"FOLDER"`
	Reports []string `arg:"" name:"report" help:"Files that scenarios have written with --json."`
}

// Run publishes, and prints what.
func (c *publishCommand) Run(s cli.Streams) error {
	done, err := publish.Run(publish.Job{Documents: c.Into, Readme: c.Readme, Plots: c.Plots, Reports: c.Reports})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	for _, d := range done {
		if _, err := fmt.Fprintf(s.Out, "%s, %d plots\n", d.Scenario, d.Plots); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	for _, doubt := range publish.Doubts(done) {
		_, _ = fmt.Fprintf(s.Err, "WARNING: %s\n", doubt)
	}
	return nil
}
