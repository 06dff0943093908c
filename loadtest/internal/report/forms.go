package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Print prints the document for a person: the summary, then each section with its table and notes, and targets last.
func (d Document) Print(to io.Writer) error {
	var text strings.Builder
	for _, line := range d.Summary {
		fmt.Fprintln(&text, line)
	}
	for _, line := range d.Warnings {
		fmt.Fprintf(&text, "WARNING: %s\n", line)
	}
	if d.Interrupted {
		text.WriteString("WARNING: interrupted; these are the figures of what was measured until then\n")
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&text, "\n%s\n", s.Name)
		if s.Table != nil {
			s.Table.Print(&text)
		}
		for _, line := range s.Notes {
			fmt.Fprintf(&text, "  %s\n", line)
		}
	}
	if all := d.Targets(); len(all) > 0 {
		fmt.Fprintf(&text, "\ntargets: %s\n", strings.Join(Verdicts(all), ", "))
	}
	for _, s := range d.Sections {
		for _, t := range s.Targets {
			fmt.Fprintf(&text, "  %s: %s\n", s.Name, t)
		}
	}
	fmt.Fprintf(&text, "\n%s\n", d.verdict())
	for _, wrong := range d.Wrong {
		fmt.Fprintf(&text, "  %s\n", wrong)
	}
	fmt.Fprintln(&text, d.Environment)
	_, err := io.WriteString(to, text.String())
	return err
}

// verdict is what the audit found, in a line.
func (d Document) verdict() string {
	if d.AuditOK() {
		return "audit: OK"
	}
	return "audit: FAILED"
}

// String is the environment in a line.
func (e Environment) String() string {
	parts := []string{fmt.Sprintf("%s/%s, %d processors for all", e.OS, e.Arch, e.CPUs), e.Go}
	for _, f := range e.Facts() {
		switch f.Name {
		case "system", "processors", "processor", "Go", "target":
		case "file system":
			parts = append(parts, "on "+f.Value)
		case "measurement":
			parts = append(parts, f.Value)
		default:
			parts = append(parts, f.Name+" "+f.Value)
		}
	}
	return strings.Join(parts, "; ") + "."
}

// Duration is how long the run took, for a person.
func (d Document) Duration() string {
	return time.Duration(d.Elapsed * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// Facts are the parts of the environment that are not empty.
func (e Environment) Facts() []Flag {
	facts := []Flag{
		{"system", e.OS + "/" + e.Arch},
		{"processors", Number(float64(e.CPUs)) + " for all"},
		{"processor", e.CPU},
		{"Go", e.Go},
		{"PostgreSQL", e.PostgreSQL},
		{"fsync", e.Fsync},
		{"synchronous_commit", e.SyncCommit},
		{"file system", e.FileSystem},
		{"SQLite", e.SQLite},
		{"Redis", e.Redis},
		{"target", e.Target},
		{"requests sent by", e.Generator},
		{"revision", e.Revision},
	}
	for _, line := range e.Measurement {
		facts = append(facts, Flag{"measurement", line})
	}
	return slices.DeleteFunc(facts, func(f Flag) bool { return f.Value == "" })
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

// WriteMarkdown writes the document as a page for a repository: its sentences, then the tables with notes, and
// targets last. Plots with dots become files whose names begin with beside; "": they are left out.
func (d Document) WriteMarkdown(to io.Writer, beside string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n`%s` made this page.\n\n", escaped(d.Scenario, "<"), strings.Join(d.Command(), " "))
	for _, line := range d.Summary {
		fmt.Fprintf(&text, "- %s\n", escaped(line, "<"))
	}
	for _, line := range d.Warnings {
		fmt.Fprintf(&text, "- WARNING: %s\n", escaped(line, "<"))
	}
	for _, s := range d.Sections {
		if err := s.markdown(&text, beside); err != nil {
			return err
		}
	}
	if all := d.Targets(); len(all) > 0 {
		fmt.Fprintf(&text, "\n## targets\n\n%s\n\n", strings.Join(Verdicts(all), ", "))
	}
	for _, s := range d.Sections {
		for _, t := range s.Targets {
			fmt.Fprintf(&text, "- %s: %s\n", escaped(s.Name, "<"), escaped(t.String(), "<"))
		}
	}
	fmt.Fprintf(&text, "\n- %s\n", d.verdict())
	for _, wrong := range d.Wrong {
		fmt.Fprintf(&text, "  - %s\n", escaped(wrong, "<"))
	}
	fmt.Fprintf(&text, "- %s\n", d.Environment)
	_, err := io.WriteString(to, text.String())
	return err
}

func (s Section) markdown(text *strings.Builder, beside string) error {
	fmt.Fprintf(text, "\n## %s\n", escaped(s.Name, "<"))
	if s.Table != nil {
		fmt.Fprintf(text, "\n%s", s.Table.Markdown())
	}
	for _, p := range s.Plots {
		if p.Kind != Dots || beside == "" {
			continue
		}
		var image bytes.Buffer
		file := beside + "-" + p.Name + ".svg"
		if err := errors.Join(p.WriteSVG(&image), os.WriteFile(file, image.Bytes(), 0o644)); err != nil { //nolint:gosec // it is for everybody
			return fmt.Errorf("write the picture %s: %w", file, err)
		}
		fmt.Fprintf(text, "\n![%s](%s)\n", escaped(p.Title, "[]<"), filepath.Base(file))
	}
	if len(s.Notes) > 0 {
		text.WriteString("\n")
	}
	for _, note := range s.Notes {
		fmt.Fprintf(text, "- %s\n", escaped(note, "<"))
	}
	return nil
}

// escaped is a text in which some letters are not Markdown.
func escaped(text, letters string) string {
	for _, letter := range letters {
		text = strings.ReplaceAll(text, string(letter), `\`+string(letter))
	}
	return text
}

// WriteJSON writes the document as one object, on one line. What is no number is null, because JSON has no word for it.
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
