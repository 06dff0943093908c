package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// reportFlags choose the forms of the report. Every scenario has them.
type reportFlags struct {
	JSON       string             `help:"Write the report as one JSON object to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	HTML       string             `name:"html" help:"Write the report as a page with plots to this file, which opens without a network; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	Markdown   string             `help:"Write the report as Markdown, for a page of a repository, to this file, with its pictures beside it if the name ends in .md; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	Target     map[string]float64 `mapsep:"none" help:"Another bound for the target of this name, as the report tells it; given several times, for several. Default: those of the scenario." placeholder:"NAME=VALUE"`
	FailOnMiss bool               `help:"Exit status 1 where a target is missed. One that is undecided is not. Default: off."`

	flags []report.Flag // all of the command, for the report; see AfterApply
}

// deliver runs a scenario, and writes its report; with an error, of what was measured until then. Files are opened beforehand, so that
// no run is lost for want of one. A fault in the report is an error, in addition to that of the run.
func (f reportFlags) deliver(ctx context.Context, s cli.Streams, measure func(ctx context.Context) (report.Document, error)) (err error) {
	var opened servers.Closers
	defer func() { err = errors.Join(err, opened.Close()) }()
	outputs, err := f.open(s, &opened)
	if err != nil {
		return err
	}
	document, err := measure(ctx)
	if document.Scenario != "" {
		document.Flags, err = f.flags, errors.Join(err, document.Err())
		for _, name := range slices.Sorted(maps.Keys(f.Target)) {
			err = errors.Join(err, wrongFlag("--target", document.SetBound(name, f.Target[name])))
		}
		for _, o := range outputs {
			to := bufio.NewWriter(o.to)
			if unwritten := errors.Join(o.write(document, to), to.Flush()); unwritten != nil {
				err = errors.Join(err, fmt.Errorf("write the report %s: %w", o.flag, unwritten))
			}
		}
		if missed := document.Missed(); f.FailOnMiss && len(missed) > 0 {
			err = errors.Join(err, fmt.Errorf("missed: %s: %s", report.Count(len(missed), "target"), strings.Join(missed, "; ")))
		}
	}
	return err
}

// output is a form of the report, and where it goes.
type output struct {
	flag  string
	write func(report.Document, io.Writer) error
	to    io.Writer
}

// open opens all outputs that the flags name; without one on standard output, the report is printed there.
func (f reportFlags) open(s cli.Streams, opened *servers.Closers) (all []output, err error) {
	names := map[string]string{}
	for _, o := range []struct {
		flag, name string
		write      func(report.Document, io.Writer) error
	}{{"--json", f.JSON, report.Document.WriteJSON}, {"--html", f.HTML, report.Document.WriteHTML}, {"--markdown", f.Markdown, f.writeMarkdown}} {
		if o.name == "" {
			continue
		}
		if other, taken := names[o.name]; taken {
			return nil, fmt.Errorf("%s and %s cannot both be written to %s", other, o.flag, o.name)
		}
		names[o.name] = o.flag
		to := s.Out
		if o.name != "-" {
			file, err := os.Create(o.name)
			if err != nil {
				return nil, wrongFlag(o.flag, err)
			}
			opened.OnClose(file.Close)
			to = file
		}
		all = append(all, output{o.flag, o.write, to})
	}
	if names["-"] == "" {
		all = append([]output{{"for a person", report.Document.Print, s.Out}}, all...)
	}
	return all, nil
}

// writeMarkdown writes pictures beside FILE.md.
func (f reportFlags) writeMarkdown(d report.Document, to io.Writer) error {
	beside, isFile := strings.CutSuffix(f.Markdown, ".md")
	return d.WriteMarkdown(to, map[bool]string{true: beside}[isFile])
}

// notTold stands for a secret.
const notTold = "(not told)"

// flagsOf are the flags of the chosen command that change what it measures, given or by default, without secrets. A hidden flag
// is among them if it was set.
func flagsOf(parsed *kong.Context) (all []report.Flag) {
	silent := []string{"help", "json", "html", "markdown", "fail-on-miss"}
	for _, flag := range parsed.Flags() {
		if slices.Contains(silent, flag.Name) || flag.Hidden && flag.Target.IsZero() {
			continue
		}
		for _, value := range valuesOf(flag) {
			all = append(all, report.Flag{Name: flag.Name, Value: value})
		}
	}
	return all
}

// valuesOf is the value of a flag; of a map, each of its pairs; and of a flag with the tag secret, as keys and addresses are, whether
// it was given.
func valuesOf(flag *kong.Flag) (all []string) {
	switch target := flag.Target; {
	case flag.Tag.Has("secret") && !target.IsZero():
		return []string{notTold}
	case target.Kind() == reflect.Map:
		for key, value := range target.Seq2() {
			all = append(all, fmt.Sprintf("%v=%v", key, value))
		}
		if len(all) == 0 {
			return []string{""}
		}
		slices.Sort(all)
		return all
	case target.Kind() == reflect.Slice:
		for _, value := range target.Seq2() {
			all = append(all, fmt.Sprint(value))
		}
		return []string{strings.Join(all, string(flag.Tag.Sep))}
	}
	return []string{fmt.Sprint(flag.Target.Interface())}
}

// AfterApply keeps the flags for the report, and checks their bounds.
func (f *reportFlags) AfterApply(parsed *kong.Context) error {
	f.flags = flagsOf(parsed)
	for _, flag := range parsed.Flags() {
		if !within(flag) {
			return fmt.Errorf("%s: --%s must be %s to %s", parsed.Selected().Name, flag.Name, flag.Tag.Get("least"), flag.Tag.Get("most"))
		}
	}
	return nil
}

// within reports whether the value of a flag is within its tags least and most, if it has them.
func within(flag *kong.Flag) bool {
	if !flag.Tag.Has("least") {
		return true
	}
	number := func(text string) (n float64) {
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN() // nothing is within
		}
		return n
	}
	is := number(fmt.Sprint(flag.Target.Interface()))
	return is >= number(flag.Tag.Get("least")) && is <= number(flag.Tag.Get("most"))
}

// wrongFlag adds to an error which flag it is about.
func wrongFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// drawnSeed returns the seed, drawn if none was given.
func drawnSeed(given uint64) uint64 {
	if given == 0 {
		return 1 + rand.Uint64N(1<<32) // short enough to be typed
	}
	return given
}
