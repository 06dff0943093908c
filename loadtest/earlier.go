package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"inventory/loadtest/internal/report"
)

// earlier is the report of another run, which the flag --compare names. It is read with the flags: a run would have to be
// done again otherwise, where there is no such report.
type earlier struct {
	document *report.Document // nil: nothing is compared
}

// Decode reads the report.
func (e *earlier) Decode(ctx *kong.DecodeContext) error {
	var name string
	if err := ctx.Scan.PopValueInto("file", &name); err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	document, err := report.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	e.document = &document
	return nil
}

// AfterApply refuses the report of another scenario than the one that is to run.
func (e *earlier) AfterApply(flags *kong.Context) error {
	scenario := flags.Selected()
	if scenario == nil {
		return errors.New("--compare: there is no scenario to compare")
	}
	if err := report.Comparable(scenario.Name, e.document.Scenario); err != nil {
		return fmt.Errorf("--compare: %w", err)
	}
	return nil
}

// laidUnder tells a report with the earlier one under it.
func (e *earlier) laidUnder(tell teller) teller {
	if e.document == nil {
		return tell
	}
	return func(d report.Document, to io.Writer) error { return tell(report.Overlay(d, *e.document), to) }
}
