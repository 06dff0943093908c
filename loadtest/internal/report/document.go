// Package report is what a run of the lab found, in one shape for every scenario, and the forms of it: text for a terminal, JSON, a
// page that opens offline, and Markdown. A scenario makes a Document, which has tables, plots and targets; forms know
// nothing of scenarios.
package report

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	plain "text/template"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema names the shape of a Document as JSON. The number grows when a member goes or changes its meaning; members may be
// added without.
const Schema = "inventory-lab/3"

// Document is what a run found.
type Document struct {
	Schema      string      `json:"schema"`
	Scenario    string      `json:"scenario"` // "": there is nothing to report
	Started     time.Time   `json:"started"`
	Elapsed     float64     `json:"elapsed_seconds"`
	Interrupted bool        `json:"interrupted"`   // the run was stopped early: what follows is of what was measured until then
	Seed        uint64      `json:"seed,omitzero"` // of what was sent; 0 where nothing hangs on one
	Flags       []Flag      `json:"flags"`
	Environment Environment `json:"environment"`
	Summary     []string    `json:"summary"`  // sentences, the most important first
	Warnings    []string    `json:"warnings"` // why figures may not be what they seem
	Figures     []Figure    `json:"figures"`  // those that one looks for first
	Sections    []Section   `json:"sections"`
	Wrong       []string    `json:"wrong"` // what must not happen, and did
}

// Run runs a scenario, and notes when and for how long. A caller that stops it gets the measurements until then, and an error that says so.
func (d *Document) Run(ctx context.Context, name string, run func(ctx context.Context) error) error {
	d.Started = time.Now()
	err := run(ctx)
	d.Elapsed = time.Since(d.Started).Seconds()
	if d.Interrupted = ctx.Err() != nil; d.Interrupted {
		return fmt.Errorf("the %s was stopped: %w", name, context.Cause(ctx)) // whatever came of that
	}
	return err
}

// AuditOK reports whether nothing happened that must not happen.
func (d Document) AuditOK() bool { return len(d.Wrong) == 0 }

// mostErrors bounds how much of what is wrong an error repeats.
const mostErrors = 3

// Err is what is wrong, in one line; nil: nothing is.
func (d Document) Err() error {
	if d.AuditOK() {
		return nil
	}
	told := make([]string, min(mostErrors, len(d.Wrong)))
	for i := range told {
		told[i], _, _ = strings.Cut(d.Wrong[i], "\n")
	}
	text := strings.Join(told, "; ")
	if more := len(d.Wrong) - len(told); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("the audit failed: %s", text)
}

// Flag is a setting of the run, given or by default. None holds a secret.
type Flag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Figure is one number.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
}

// Environment is what else figures depend on, a fact after the other.
type Environment []Flag

// Add adds a fact; one that is empty is not known.
func (e *Environment) Add(name, value string) {
	if value != "" {
		*e = append(*e, Flag{name, value})
	}
}

// Of is a fact; "": it is not known.
func (e Environment) Of(name string) string {
	for _, f := range e {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// String is the environment in a line.
func (e Environment) String() string {
	facts := make([]string, len(e))
	for i, f := range e {
		facts[i] = f.Name + " " + f.Value
	}
	return strings.Join(facts, "; ") + "."
}

// Section is a question and its answer.
type Section struct {
	Name    string   `json:"name"`
	Table   *Table   `json:"table,omitempty"`
	Plots   []Plot   `json:"plots,omitempty"`
	Targets []Target `json:"targets,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Detail  bool     `json:"detail,omitempty"` // long, and the figures of a shorter section: pages of a repository leave it out
}

// Table has a cell of each row for each column. The first column names the row. A cell that begins with [Good], [Bad] or [Open] has
// a verdict, which pages tell in colour too.
type Table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Add adds a row of numbers with its name.
func (t *Table) Add(name string, numbers ...float64) {
	row := []string{name}
	for _, n := range numbers {
		row = append(row, Number(n))
	}
	t.Rows = append(t.Rows, row)
}

// The marks of verdicts.
const (
	Good = "✓"
	Bad  = "✗"
	Open = "?"
)

// Plot is a picture. Lines have X in their series; dots have categories instead, a Y of each series for each.
type Plot struct {
	Name       string   `json:"name"` // unique in a document, and that of the same question in another run: [a-z0-9-]+
	Title      string   `json:"title"`
	Kind       PlotKind `json:"kind"`
	X          Axis     `json:"x"`
	Y          Axis     `json:"y"`
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
	Marks      []Mark   `json:"marks,omitempty"` // instants on the X axis of lines; values on the Y axis of dots
}

// PlotKind is how a plot is drawn.
type PlotKind string

// The kinds of plots.
const (
	Lines PlotKind = "lines"
	Dots  PlotKind = "dots" // whose Y axis is horizontal, because names are long
)

// Axis is a direction of a plot.
type Axis struct {
	Label string `json:"label"`         // with the unit
	Log   bool   `json:"log,omitempty"` // it has equal steps for powers of ten: the Y axis alone
}

// Series is a line, or the dots of one colour. A value that is no number is a gap.
type Series struct {
	Name string    `json:"name"`
	X    []float64 `json:"x,omitempty"`
	Y    []float64 `json:"y"`
	Low  []float64 `json:"low,omitempty"` // and High: the ends of a dot's whiskers
	High []float64 `json:"high,omitempty"`
}

// Mark explains what a plot shows, such as the instant of the sell-out.
type Mark struct {
	X     float64 `json:"x"`
	To    float64 `json:"to,omitzero"` // the end of a time
	Label string  `json:"label"`
}

// padding is between the columns of a printed table.
const padding = 2

// Text is the table for a terminal.
func (t Table) Text() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, padding, ' ', tabwriter.AlignRight)
	for _, row := range slices.Concat([][]string{t.Columns}, t.Rows) {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
	}
	_ = table.Flush() // writing to a builder does not fail
	return text.String()
}

// mostFigures are the letters of a figure with its interval, and of what stands beside it.
const mostFigures = 30

// wordy reports whether a column has words, which are aligned to the left, and not figures.
func (t Table) wordy(column int) bool {
	return column == 0 || slices.ContainsFunc(t.Rows, func(row []string) bool { return utf8.RuneCountInString(row[column]) > mostFigures })
}

// Count is a number of things: 1 SKU, 2,000 SKUs.
func Count[N int | int64](n N, thing string) string {
	return humanize.Comma(int64(n)) + " " + english.PluralWord(int(n), thing, "")
}

// mostTold is further from 0 than any figure of a run.
const mostTold = 1e18

// Number is short, and has three digits where it is small. A value that is no number is a dash.
func Number(value float64) string {
	switch size := math.Abs(value); {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return "-"
	case size == 0 || size >= 100 && size <= mostTold:
		return humanize.Comma(int64(math.Round(value)))
	}
	return fmt.Sprintf("%.3g", value)
}

var (
	// texts are the templates of what is read as it is.
	//go:embed page.md page.txt
	texts embed.FS
	//go:embed page.html
	pageSource string
	//go:embed page.css
	pageStyle string
)

// write writes the document by a template of [texts].
func (d Document) write(to io.Writer, name string, more plain.FuncMap) error {
	functions := plain.FuncMap{"join": strings.Join, "verdicts": Verdicts}
	maps.Copy(functions, more)
	t, err := plain.New(name).Funcs(functions).ParseFS(texts, name)
	if err != nil {
		return err
	}
	return t.Execute(to, d)
}

// Print prints the document for a person: the summary, then each section with its table and notes, and targets last.
func (d Document) Print(to io.Writer) error { return d.write(to, "page.txt", nil) }

// WriteMarkdown writes the document as a page for a repository: its sentences, then the tables with notes but for details, and
// targets last. Plots with dots become files whose names begin with beside; "": they are left out.
func (d Document) WriteMarkdown(to io.Writer, beside string) error {
	return d.write(to, "page.md", plain.FuncMap{
		"escaped": escaped,
		"words":   Table.wordy,
		"picture": func(p Plot) (string, error) {
			if p.Kind != Dots || beside == "" {
				return "", nil
			}
			var image bytes.Buffer
			file := beside + "-" + p.Name + ".svg"
			if err := errors.Join(p.WriteSVG(&image), os.WriteFile(file, image.Bytes(), 0o644)); err != nil { //nolint:gosec // it is for everybody
				return "", fmt.Errorf("write the picture %s: %w", file, err)
			}
			return filepath.Base(file), nil
		},
	})
}

// escaped is a text in which some letters are not Markdown.
func escaped(letters, text string) string {
	for _, letter := range letters {
		text = strings.ReplaceAll(text, string(letter), `\`+string(letter))
	}
	return text
}

// moods are the colours of verdicts, by the marks that they begin with.
var moods = map[string]string{Good: "good", Bad: "bad", Open: "open"}

// WriteHTML writes the document as one page that needs nothing else: its policy forbids it to load anything.
func (d Document) WriteHTML(to io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": Number, "verdicts": Verdicts,
		"style": func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // a file of this package
		"mood": func(verdict string) string {
			mark, _, _ := strings.Cut(verdict, " ")
			return moods[mark]
		},
		"class": func(t *Table, column int) string { return map[bool]string{true: "words"}[t.wordy(column)] },
		"plot": func(p Plot) (template.HTML, error) {
			image, err := p.svg()
			return template.HTML(image), err //nolint:gosec // its texts are escaped
		},
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	return t.Execute(to, d)
}

// WriteJSON writes the document as one object, on one line. A value that is no number is null, because JSON has no word for it.
func (d Document) WriteJSON(to io.Writer) error {
	d.Schema = Schema
	numbers := json.MarshalToFunc(func(to *jsontext.Encoder, value float64) error {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return to.WriteToken(jsontext.Null)
		}
		return errors.ErrUnsupported // as usual
	})
	if err := json.MarshalWrite(to, d, json.WithMarshalers(numbers)); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

// Duration is how long the run took, for a person.
func (d Document) Duration() string {
	return time.Duration(d.Elapsed * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// Command repeats the run, by its words.
func (d Document) Command() []string {
	words := []string{"go", "run", "./loadtest", quote(d.Scenario)}
	for _, f := range d.Flags {
		switch {
		case f.Name == "seed" && d.Seed != 0, f.Value == "", f.Value == "false":
		case f.Value == "true":
			words = append(words, quote("--"+f.Name))
		default:
			words = append(words, quote("--"+f.Name+"="+f.Value))
		}
	}
	if d.Seed != 0 {
		words = append(words, "--seed="+strconv.FormatUint(d.Seed, 10))
	}
	return words
}

// quote makes one word of a text for a shell.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
