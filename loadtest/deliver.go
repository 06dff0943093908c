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

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// reportFlags choose who is told what a run found. Every scenario has them.
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

// deliver measures, and hands the report to whoever the flags name. What it writes to is opened beforehand: a run would be
// lost otherwise. A measurement that was interrupted, or failed half-way, delivers what it has beside its error.
func (f reportFlags) deliver(ctx context.Context, s cli.Streams, measure func(context.Context) (report.Document, error)) error {
	out, err := f.open(s)
	if err != nil {
		return err
	}
	document, err := measure(ctx)
	if document.Scenario != "" {
		if document.Flags == nil {
			document.Flags = f.flags
		}
		unknown := f.setBounds(&document)
		err = errors.Join(err, unknown, out.write(document))
		if missed := document.Missed(); f.FailOnMiss && len(missed) > 0 {
			err = errors.Join(err, fmt.Errorf("%d targets are missed: %s", len(missed), strings.Join(missed, "; ")))
		}
	}
	return errors.Join(err, out.close())
}

// raw tells whether anybody wants what the figures are made of.
func (f reportFlags) raw() bool { return f.CSV != "" || f.HDR != "" }

// setBounds gives targets the bounds of the flags.
func (f reportFlags) setBounds(d *report.Document) error {
	for _, name := range slices.Sorted(maps.Keys(f.Target)) {
		if err := d.SetBound(name, f.Target[name]); err != nil {
			return fmt.Errorf("--target: %w", err)
		}
	}
	return nil
}

// outputs are where a report goes.
type outputs struct {
	all   []written
	files []*os.File
}

// written is a way to tell a report, and where to.
type written struct {
	flag string // or who reads it
	to   io.Writer
	tell teller
}

// teller is a way to tell a report.
type teller func(report.Document, io.Writer) error

func (f reportFlags) open(s cli.Streams) (*outputs, error) {
	if f.JSON != "" && f.JSON == f.HTML {
		return nil, fmt.Errorf("--json and --html cannot both be written to %s", f.JSON)
	}
	o := &outputs{}
	if f.JSON != "-" && f.HTML != "-" {
		o.all = append(o.all, written{"for a person", s.Out, f.Compare.laidUnder(report.Document.Print)})
	}
	for _, w := range []struct {
		flag, name string
		tell       teller
	}{
		{"--json", f.JSON, report.Document.WriteJSON}, // of this run alone, so that it can be compared with
		{"--html", f.HTML, f.Compare.laidUnder(report.Document.WriteHTML)},
		{"--csv", f.CSV, report.Document.WriteCSV},
		{"--hdr", f.HDR, report.Document.WriteHDR},
	} {
		switch w.name {
		case "":
		case "-":
			o.all = append(o.all, written{w.flag, s.Out, w.tell})
		default:
			file, err := os.Create(w.name) // what is in it afterwards is this run's
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", w.flag, err), o.close())
			}
			o.files, o.all = append(o.files, file), append(o.all, written{w.flag, file, w.tell})
		}
	}
	return o, nil
}

// write tells all of them. One that cannot be written keeps nobody else from being told.
func (o *outputs) write(d report.Document) error {
	var errs []error
	for _, w := range o.all {
		to := bufio.NewWriter(w.to)
		if err := errors.Join(w.tell(d, to), to.Flush()); err != nil {
			errs = append(errs, fmt.Errorf("write the report %s: %w", w.flag, err))
		}
	}
	return errors.Join(errs...)
}

func (o *outputs) close() error {
	var errs []error
	for _, file := range o.files {
		if err := file.Close(); err != nil {
			errs = append(errs, fmt.Errorf("write the report: %w", err))
		}
	}
	return errors.Join(errs...)
}
