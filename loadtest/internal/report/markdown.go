package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the document as a page for a repository: its sentences, then the tables with their targets and notes.
func (d Document) WriteMarkdown(to io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n`%s` made this page.\n\n", escaped(d.Scenario, "<"), strings.Join(d.Command(), " "))
	for _, line := range d.Summary {
		fmt.Fprintf(&text, "- %s\n", escaped(line, "<"))
	}
	for _, line := range d.Warnings {
		fmt.Fprintf(&text, "- WARNING: %s\n", escaped(line, "<"))
	}
	for _, s := range d.Sections {
		s.markdown(&text)
	}
	fmt.Fprintf(&text, "\n- %s\n", d.verdict())
	for _, wrong := range d.Wrong {
		fmt.Fprintf(&text, "  - %s\n", escaped(wrong, "<"))
	}
	fmt.Fprintf(&text, "- %s\n", d.Environment)
	_, err := io.WriteString(to, text.String())
	return err
}

func (s Section) markdown(text *strings.Builder) {
	fmt.Fprintf(text, "\n## %s\n", escaped(s.Name, "<"))
	if s.Table != nil {
		fmt.Fprintf(text, "\n%s", s.Table.Markdown())
	}
	if len(s.Targets)+len(s.Notes) > 0 {
		text.WriteString("\n")
	}
	for _, t := range s.Targets {
		fmt.Fprintln(text, t.Markdown())
	}
	for _, note := range s.Notes {
		fmt.Fprintf(text, "- %s\n", escaped(note, "<"))
	}
}

// escaped is a text in which some letters are not Markdown.
func escaped(text, letters string) string {
	for _, letter := range letters {
		text = strings.ReplaceAll(text, string(letter), `\`+string(letter))
	}
	return text
}
