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

// reportFlags choose the forms of the report. Every scenario has them.
type reportFlags struct {
	JSON       string             `help:"Write the report as one JSON object to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	Markdown   string             `help:"Write the report as Markdown, for a page of a repository, to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	Target     map[string]float64 `mapsep:"none" help:"Another bound for the target of this name, as the report tells it; given several times, for several. Default: those of the scenario." placeholder:"NAME=VALUE"`
	FailOnMiss bool               `help:"Exit status 1 where a target is missed. One that is undecided is not. Default: off."`

	flags []report.Flag // all of the command, for the report; see AfterApply
}

// measure runs a scenario. With an error, its report is of what was measured until then.
type measure func(ctx context.Context) (report.Document, error)

// deliver runs a scenario, and writes its report. Files are opened beforehand, so that no run is lost for want of one. What is
// wrong by the report is an error, in addition to that of the run.
func (f reportFlags) deliver(ctx context.Context, s cli.Streams, measure measure) error {
	outputs, err := f.open(s)
	if err != nil {
		return err
	}
	document, err := measure(ctx)
	if document.Scenario != "" {
		document.Flags, err = f.flags, errors.Join(err, document.Err())
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
	forms := []struct {
		flag, name string
		form       form
	}{{"--json", f.JSON, report.Document.WriteJSON}, {"--markdown", f.Markdown, report.Document.WriteMarkdown}}
	printed, taken := true, map[string]string{}
	for _, o := range forms {
		if other, is := taken[o.name]; is && o.name != "" {
			return nil, fmt.Errorf("%s and %s cannot both be written to %s", other, o.flag, o.name)
		}
		taken[o.name], printed = o.flag, printed && o.name != "-"
	}
	if printed {
		all = append(all, output{flag: "for a person", to: s.Out, form: report.Document.Print})
	}
	for _, o := range forms {
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
