package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// result is what a scenario ends with.
type result interface {
	Print(to io.Writer) error     // for a person
	PrintJSON(to io.Writer) error // one object
}

// output is where a result goes: to a person on standard output, and as JSON to a file; or as JSON to standard output.
type output struct {
	person io.Writer // nil: nobody reads
	json   io.Writer // nil: not wanted
	file   *os.File  // nil: none
}

// openOutput opens what --json names. It does so before a run, whose result would be lost otherwise, and empties it:
// what is in the file afterwards is this run's.
func openOutput(name string, standard io.Writer) (*output, error) {
	switch name {
	case "":
		return &output{person: standard}, nil
	case "-":
		return &output{json: standard}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("--json: %w", err)
	}
	return &output{person: standard, json: file, file: file}, nil
}

func (o *output) print(r result) error {
	if o.json != nil {
		if err := r.PrintJSON(o.json); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if o.person != nil {
		if err := r.Print(o.person); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
	}
	return nil
}

func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// comparison is the result of a scenario that compares, which can also go into a document.
type comparison interface {
	result
	Into(document string) string // the document with the tables in it
	Err() error                  // what must not happen, and did
}

// benchmark measures, and hands the result to whoever the flags name.
func benchmark(json, markdown string, standard io.Writer, measure func() (comparison, error)) error {
	out, err := openOutput(json, standard)
	if err != nil {
		return err
	}
	result, err := measure()
	if err != nil {
		return errors.Join(err, out.close())
	}
	return errors.Join(out.print(result), out.close(), writeMarkdown(markdown, result.Into), result.Err())
}

// writeMarkdown puts a result into the document that --markdown names, and keeps what the document says around it.
func writeMarkdown(file string, into func(document string) string) error {
	if file == "" {
		return nil
	}
	document, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--markdown: %w", err)
	}
	if err := os.WriteFile(file, []byte(into(string(document))), 0o644); err != nil {
		return fmt.Errorf("--markdown: %w", err)
	}
	return nil
}
