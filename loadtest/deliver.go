package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// reportFlags choose who is told what a run found. Every scenario has them.
type reportFlags struct {
	JSON string `help:"Write the report as one JSON object (docs/LAB.md) to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
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
		err = errors.Join(err, out.write(document))
	}
	return errors.Join(err, out.close())
}

// outputs are where a report goes.
type outputs struct {
	all   []written
	files []*os.File
}

// written is a way to tell a report, and where to.
type written struct {
	flag string // "" is standard output, for a person
	to   io.Writer
	tell func(report.Document, io.Writer) error
}

func (f reportFlags) open(s cli.Streams) (*outputs, error) {
	o := &outputs{}
	if f.JSON != "-" {
		o.all = append(o.all, written{"", s.Out, report.Document.Print})
	}
	err := o.add("--json", f.JSON, s.Out, report.Document.WriteJSON)
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

// add opens a file that a flag names, and empties it: what is in it afterwards is this run's.
func (o *outputs) add(flag, name string, standard io.Writer, tell func(report.Document, io.Writer) error) error {
	switch name {
	case "":
		return nil
	case "-":
		o.all = append(o.all, written{flag, standard, tell})
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	o.files = append(o.files, file)
	o.all = append(o.all, written{flag, file, tell})
	return nil
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
