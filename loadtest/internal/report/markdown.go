package report

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown is the document as a part of a text: its headings are of the third level. Its plots are images in a folder, under the
// names that [Plot.File] gives; "": there are none.
func (d Document) Markdown(plotFolder string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", d.Environment)
	for _, s := range d.Sections {
		s.markdown(&text, plotFolder)
		s.listed(&text)
	}
	fmt.Fprintf(&text, "\n- %s\n", d.verdict())
	for _, wrong := range d.Wrong {
		fmt.Fprintf(&text, "  - %s\n", escaped(wrong, "<"))
	}
	return text.String()
}

// briefColumns are the columns of a table that Brief has.
const briefColumns = 4

// Brief is the document for a page of several: its sentences, the plots and the first columns of its first section, and the
// missed targets. It links to a page with all.
func (d Document) Brief(plotFolder, page string) string {
	var text strings.Builder
	verdict := Verdict(d.Targets())
	d.Summary = slices.DeleteFunc(slices.Clone(d.Summary), func(line string) bool { return line == verdict }) // it is before the targets
	text.WriteString(d.Sentences())
	if len(d.Sections) > 0 {
		s := d.Sections[0]
		if s.Table != nil {
			first := s.Table.each(func(_ int, row []string) []string { return row[:min(briefColumns, len(row))] })
			s.Table = &first
		}
		s.markdown(&text, plotFolder)
	}
	if targets := d.Targets(); len(targets) > 0 {
		fmt.Fprintf(&text, "\n- %s\n", Verdict(targets))
		for _, t := range targets {
			if t.missed() {
				fmt.Fprintln(&text, t.Markdown())
			}
		}
	}
	fmt.Fprintf(&text, "\n[All tables and plots, and the machine](%s)\n", page)
	return text.String()
}

// Sentences are the summary, as a list.
func (d Document) Sentences() string {
	var text strings.Builder
	for _, line := range d.Summary {
		fmt.Fprintf(&text, "- %s\n", escaped(line, "<"))
	}
	return text.String()
}

// File is the name of the file that has the plot as an image.
func (p Plot) File() string { return p.Name + ".svg" }

// markdown is the section without its targets and notes.
func (s Section) markdown(text *strings.Builder, plotFolder string) {
	fmt.Fprintf(text, "\n### %s\n", escaped(s.Name, "<"))
	if plotFolder != "" {
		for _, p := range s.Plots {
			fmt.Fprintf(text, "\n![%s](%s/%s)\n", escaped(p.Title, "[]<"), strings.TrimSuffix(plotFolder, "/"), p.File())
		}
	}
	if s.Table != nil {
		fmt.Fprintf(text, "\n%s", s.Table.Markdown())
	}
}

// listed are the targets and the notes.
func (s Section) listed(text *strings.Builder) {
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
