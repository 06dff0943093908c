// Package publish puts reports of the lab into a document: what each says in brief between the lines
//
//	<!-- SCENARIO: begin -->
//	<!-- SCENARIO: end -->
//
// a table of it between such lines with the name of its section,
//
//	<!-- SCENARIO: SECTION: begin -->
//
// all its tables into a page of its own in the folder benchmarks beside the document, and its plots as SVG into a folder of the
// scenario's name. What stands around those lines stays.
package publish

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"inventory/loadtest/internal/report"
)

// Job says what goes where.
type Job struct {
	Documents []string // the files that have the lines, each those of some reports; the first has the folder benchmarks beside it
	Readme    string   // the file that has such lines for some reports, and gets their sentences alone; "": none
	Plots     string   // the folder that gets a folder for each scenario
	Reports   []string // files of JSON
}

// Done is what was published of a report.
type Done struct {
	Scenario string
	Plots    int
	Revision string // of the program that made it
}

// Doubts are why figures of one page may not belong together.
func Doubts(done []Done) (doubts []string) {
	var revisions []string
	for _, d := range done {
		if strings.HasSuffix(d.Revision, "-dirty") {
			doubts = append(doubts, fmt.Sprintf("%s is of a source that was changed: %s", d.Scenario, d.Revision))
		}
		if d.Revision != "" && !slices.Contains(revisions, d.Revision) {
			revisions = append(revisions, d.Revision)
		}
	}
	if len(revisions) > 1 {
		doubts = append(doubts, "the reports are of several revisions: "+strings.Join(revisions, ", "))
	}
	return doubts
}

// chapter is the text and the plots of a report.
type chapter struct {
	scenario  string
	sentences string // for the readme
	revision  string
	text      string            // for the document
	tables    map[string]string // for it, by the name of the section; and the machine
	page      string            // all of it
	plots     map[string][]byte // by the name of the file
}

// Run publishes. Nothing is written unless all of it can be made.
func Run(job Job) (done []Done, err error) {
	texts := make(map[string]string) // by file
	for _, file := range job.Documents {
		if err := load(file, texts); err != nil {
			return nil, err
		}
	}
	var chapters []chapter
	for _, file := range job.Reports {
		c, err := job.chapter(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if slices.ContainsFunc(chapters, func(other chapter) bool { return other.scenario == c.scenario }) {
			return nil, fmt.Errorf("%s: another report is of %s, too", file, c.scenario)
		}
		if err := c.into(job.Documents, texts); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(job.Documents, ", "), err)
		}
		chapters = append(chapters, c)
	}
	if job.Readme != "" {
		if err := load(job.Readme, texts); err != nil {
			return nil, err
		}
		for _, c := range chapters {
			texts[job.Readme] = insert(texts[job.Readme], c.scenario, c.sentences)
		}
	}
	if err := os.MkdirAll(job.pages(), 0o755); err != nil {
		return nil, err
	}
	for _, c := range chapters {
		if err := os.WriteFile(filepath.Join(job.pages(), c.scenario+".md"), []byte(c.page), 0o644); err != nil {
			return nil, err
		}
		if err := c.writePlots(filepath.Join(job.Plots, c.scenario)); err != nil {
			return nil, err
		}
		done = append(done, Done{c.scenario, len(c.plots), c.revision})
	}
	var errs []error
	for file, text := range texts {
		errs = append(errs, replace(file, text))
	}
	return done, errors.Join(errs...)
}

// load adds the text of a file to the texts.
func load(file string, texts map[string]string) error {
	text, err := os.ReadFile(file)
	if err == nil {
		texts[file] = string(text)
	}
	return err
}

// into puts the chapter into the document that has its lines.
func (c chapter) into(documents []string, texts map[string]string) (err error) {
	for _, document := range documents {
		text, missing := Into(texts[document], c.scenario, c.text)
		if missing != nil {
			err = missing
			continue
		}
		for name, table := range c.tables {
			text = insert(text, c.scenario+": "+name, table)
		}
		texts[document] = text
		return nil
	}
	return err
}

// insert is Into, and leaves a document without the lines as it is.
func insert(document, mark, text string) string {
	if with, err := Into(document, mark, text); err == nil {
		return with
	}
	return document
}

// pages is the folder of the pages with all tables.
func (job Job) pages() string { return filepath.Join(filepath.Dir(job.Documents[0]), "benchmarks") }

// replace writes a file again, or leaves it as it is, for example if the disk is full.
func replace(file, text string) error {
	fresh, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return err
	}
	_, err = fresh.WriteString(text)
	err = errors.Join(err, fresh.Chmod(0o644), fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh.Name()))
	}
	return nil
}

// chapter reads a report, and makes its text and its plots.
func (job Job) chapter(file string) (chapter, error) {
	d, err := read(file)
	if err != nil {
		return chapter{}, err
	}
	if !isPlain(d.Scenario) {
		return chapter{}, fmt.Errorf("%q is no name of a scenario", d.Scenario)
	}
	fromDocument, err := filepath.Rel(filepath.Dir(job.Documents[0]), filepath.Join(job.Plots, d.Scenario))
	if err != nil {
		return chapter{}, err
	}
	fromDocument = filepath.ToSlash(fromDocument)
	c := chapter{
		scenario: d.Scenario, revision: d.Environment.Revision, sentences: d.Sentences(),
		text:   d.Brief(fromDocument, "benchmarks/"+d.Scenario+".md"),
		page:   fmt.Sprintf(pageText, d.Scenario, d.Markdown("../"+fromDocument)),
		tables: map[string]string{machine: d.Environment.String()}, plots: map[string][]byte{},
	}
	for _, s := range d.Sections {
		if s.Table != nil {
			c.tables[s.Name] = s.Table.Markdown()
		}
		for _, p := range s.Plots {
			if !isPlain(p.Name) {
				return chapter{}, fmt.Errorf("%q is no name of a plot", p.Name)
			}
			var svg bytes.Buffer
			if err := p.WriteSVG(&svg); err != nil {
				return chapter{}, fmt.Errorf("draw the plot %s: %w", p.Name, err)
			}
			c.plots[p.File()] = svg.Bytes()
		}
	}
	return c, nil
}

func read(file string) (report.Document, error) {
	f, err := os.Open(file)
	if err != nil {
		return report.Document{}, errors.Unwrap(err) // without the name, which the caller adds
	}
	defer f.Close()
	return report.Read(f)
}

// isPlain keeps names that come out of a file from being paths.
func isPlain(name string) bool { return name != "" && name == report.PlotName(name) }

// writePlots makes a folder hold these plots, and no older ones.
func (c chapter) writePlots(folder string) error {
	old, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	errs := []error{err, os.MkdirAll(folder, 0o755)}
	for _, file := range old {
		if c.plots[filepath.Base(file)] == nil {
			errs = append(errs, os.Remove(file))
		}
	}
	for name, svg := range c.plots {
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), svg, 0o644))
	}
	return errors.Join(errs...)
}

// pageText is the page of a scenario with all its tables, in a folder beside the document.
const pageText = `# All tables of %s

The lab has made this page of a report ([how](../LAB.md#publishing)).

%s`

// machine marks the lines for the machine of a report.
const machine = "the machine"

// Into replaces what is between the lines <!-- mark: begin --> and <!-- mark: end --> of a document.
func Into(document, mark, text string) (string, error) {
	begin, end := "<!-- "+mark+": begin -->\n", "<!-- "+mark+": end -->\n"
	before, rest, begins := strings.Cut(document, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("there are no lines %s and %s", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}
