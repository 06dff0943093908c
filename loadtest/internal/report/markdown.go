package report

import (
	"fmt"
	"strings"
)

// Markdown is the document for a place among other texts: its headings are of the third level. Its plots are images in a
// folder, under the names that [Plot.File] gives; where no folder is named there are none.
func (d Document) Markdown(plotFolder string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", d.Environment)
	for _, s := range d.Sections {
		fmt.Fprintf(&text, "\n### %s\n", escaped(s.Name, "<"))
		if plotFolder != "" {
			for _, p := range s.Plots {
				fmt.Fprintf(&text, "\n![%s](%s/%s)\n", escaped(p.Title, "[]<"), strings.TrimSuffix(plotFolder, "/"), p.File())
			}
		}
		if s.Table != nil {
			fmt.Fprintf(&text, "\n%s", s.Table.Markdown())
		}
		s.listed(&text)
	}
	fmt.Fprintf(&text, "\n- %s\n", d.verdict())
	for _, wrong := range d.Wrong {
		fmt.Fprintf(&text, "  - %s\n", escaped(wrong, "<"))
	}
	return text.String()
}

// File is the name of the file that has the plot as an image.
func (p Plot) File() string { return p.Name + ".svg" }

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

// escaped keeps letters of a text from being taken for Markdown.
func escaped(text, letters string) string {
	for _, letter := range letters {
		text = strings.ReplaceAll(text, string(letter), `\`+string(letter))
	}
	return text
}
