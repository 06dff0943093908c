package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// reportFlags choose the forms of the report. Every scenario has them.
type reportFlags struct {
	JSON       string             `help:"Write the report as one JSON object (docs/lab/json.md) to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	HTML       string             `name:"html" help:"Write the report as a page with plots to this file, which opens without a network; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	CSV        string             `name:"csv" help:"Write to this file of comma-separated values each attempt of each operation (docs/lab/answers.md), or of a comparison what each window came to, a row for each contender, round and metric. Default: none." placeholder:"FILE"`
	HDR        string             `name:"hdr" help:"Write to this file, a log of HdrHistogram, how long operations took by round and outcome, or in each window of a comparison. Default: none." placeholder:"FILE"`
	Compare    earlier            `help:"A report of the same scenario that an earlier run has written with --json: what is printed, and the page of --html, compare this run with it. Default: none." placeholder:"FILE"`
	Target     map[string]float64 `mapsep:"none" help:"Another bound for the target of this name, as the report tells it; given several times, for several. Default: those of the scenario." placeholder:"NAME=VALUE"`
	FailOnMiss bool               `help:"Exit status 1 where a target is missed. One that is undecided is not. Default: off."`

	flags []report.Flag // all of the command, for the report; see AfterApply
}

// result is what a run has come to.
type result interface {
	Began() bool // there is something to report
	Document() (report.Document, error)
	Err() error // what must not happen
}

// run measures, and delivers the report of the result. An error of the run is joined with what must not happen.
func (f reportFlags) run(ctx context.Context, s cli.Streams, measure func(context.Context) (result, error)) error {
	return f.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		return documented(measure(ctx))
	})
}

func documented(r result, err error) (report.Document, error) {
	if r == nil || !r.Began() {
		return report.Document{}, err
	}
	document, unwritten := r.Document()
	return document, errors.Join(err, unwritten, r.Err())
}

// deliver measures, and writes the report. Files are opened beforehand, so that no run is lost for want of one. A run that was
// interrupted, or failed half-way, delivers what it has beside its error.
func (f reportFlags) deliver(ctx context.Context, s cli.Streams, measure func(context.Context) (report.Document, error)) error {
	outputs, err := f.open(s)
	if err != nil {
		return err
	}
	document, err := measure(ctx)
	if document.Scenario != "" {
		if document.Flags == nil {
			document.Flags = f.flags
		}
		for _, name := range slices.Sorted(maps.Keys(f.Target)) {
			if unknown := document.SetBound(name, f.Target[name]); unknown != nil {
				err = errors.Join(err, fmt.Errorf("--target: %w", unknown))
				break
			}
		}
		for _, o := range outputs {
			err = errors.Join(err, o.write(document))
		}
		if missed := document.Missed(); f.FailOnMiss && len(missed) > 0 {
			err = errors.Join(err, fmt.Errorf("%d targets are missed: %s", len(missed), strings.Join(missed, "; ")))
		}
	}
	return errors.Join(err, closeAll(outputs))
}

// raw reports whether a form with raw figures was chosen.
func (f reportFlags) raw() bool { return f.CSV != "" || f.HDR != "" }

// output is a form of the report, and where it goes.
type output struct {
	flag string
	to   io.Writer
	file *os.File // the same, if it is to be closed
	form form
}

// form writes a report.
type form func(report.Document, io.Writer) error

func (f reportFlags) open(s cli.Streams) (all []output, err error) {
	if f.JSON != "" && f.JSON == f.HTML {
		return nil, fmt.Errorf("--json and --html cannot both be written to %s", f.JSON)
	}
	if f.JSON != "-" && f.HTML != "-" {
		all = append(all, output{flag: "for a person", to: s.Out, form: f.Compare.under(report.Document.Print)})
	}
	for _, o := range []struct {
		flag, name string
		form       form
	}{
		{"--json", f.JSON, report.Document.WriteJSON}, // of this run alone, so that later runs can be compared with it
		{"--html", f.HTML, f.Compare.under(report.Document.WriteHTML)},
		{"--csv", f.CSV, report.Document.WriteCSV},
		{"--hdr", f.HDR, report.Document.WriteHDR},
	} {
		switch o.name {
		case "":
		case "-":
			all = append(all, output{flag: o.flag, to: s.Out, form: o.form})
		default:
			file, err := os.Create(o.name)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", o.flag, err), closeAll(all))
			}
			all = append(all, output{o.flag, file, file, o.form})
		}
	}
	return all, nil
}

func (o output) write(d report.Document) error {
	to := bufio.NewWriter(o.to)
	if err := errors.Join(o.form(d, to), to.Flush()); err != nil {
		return fmt.Errorf("write the report %s: %w", o.flag, err)
	}
	return nil
}

func closeAll(outputs []output) (err error) {
	for _, o := range outputs {
		if o.file == nil {
			continue
		}
		if unwritten := o.file.Close(); unwritten != nil {
			err = errors.Join(err, fmt.Errorf("write the report: %w", unwritten))
		}
	}
	return err
}

// earlier is the report of another run, which --compare names. It is read before anything is measured.
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
	return wrongFlag("--compare", report.Comparable(scenario.Name, e.document.Scenario))
}

// under is a form with the earlier report under this one.
func (e *earlier) under(f form) form {
	if e.document == nil {
		return f
	}
	return func(d report.Document, to io.Writer) error { return f(report.Overlay(d, *e.document), to) }
}
