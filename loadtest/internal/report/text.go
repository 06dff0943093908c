package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Print prints the document for a person: the summary first, then a table for each section, with what it has to reach.
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
		if err := s.print(&text); err != nil {
			return err
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

func (s Section) print(text *strings.Builder) error {
	fmt.Fprintf(text, "\n%s\n", s.Name)
	if s.Table != nil {
		if err := s.Table.Print(text); err != nil {
			return err
		}
	}
	for _, line := range s.Notes {
		fmt.Fprintf(text, "  %s\n", line)
	}
	for _, t := range s.Targets {
		fmt.Fprintf(text, "  %s\n", t)
	}
	return nil
}

// verdict is what the audit found, in a line.
func (d Document) verdict() string {
	if d.AuditOK {
		return "audit: OK"
	}
	return "audit: FAILED"
}

// String is the environment in a line.
func (e Environment) String() string {
	parts := []string{fmt.Sprintf("%s/%s, %d processors for all", e.OS, e.Arch, e.CPUs), e.Go}
	for _, part := range []struct{ name, value string }{
		{"PostgreSQL ", e.PostgreSQL},
		{"fsync ", e.Fsync},
		{"synchronous_commit ", e.SyncCommit},
		{"on ", e.FileSystem},
		{"SQLite ", e.SQLite},
		{"Redis ", e.Redis},
		{"requests sent by ", e.Generator},
		{"revision ", e.Revision},
		{"", strings.Join(e.Measurement, "; ")},
	} {
		if part.value != "" {
			parts = append(parts, part.name+part.value)
		}
	}
	return strings.Join(parts, "; ") + "."
}

// Duration is how long the run took, for a person.
func (d Document) Duration() string {
	return time.Duration(d.Elapsed * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// Facts are the environment by its parts, of which none is empty.
func (e Environment) Facts() []Flag {
	facts := []Flag{
		{"system", e.OS + "/" + e.Arch},
		{"processors", Number(float64(e.CPUs)) + " for all"},
		{"processor", e.CPU},
		{"Go", e.Go},
		{"revision", e.Revision},
		{"PostgreSQL", e.PostgreSQL},
		{"fsync", e.Fsync},
		{"synchronous_commit", e.SyncCommit},
		{"file system", e.FileSystem},
		{"SQLite", e.SQLite},
		{"Redis", e.Redis},
		{"target", e.Target},
		{"requests sent by", e.Generator},
	}
	for _, line := range e.Measurement {
		facts = append(facts, Flag{"measurement", line})
	}
	return slices.DeleteFunc(facts, func(f Flag) bool { return f.Value == "" })
}
