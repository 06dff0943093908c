package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Markdown is the document for a document: what a person reads first, then each section with its table, its plots, what it
// has to reach and its notes. The plots are the files NAME.svg of a folder, as WriteSVG writes them.
func (d Document) Markdown(plotFolder string) string {
	var text strings.Builder
	for _, line := range append(d.Summary, d.Environment.String()) {
		fmt.Fprintf(&text, "%s\n\n", line)
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&text, "### %s\n\n", s.Name)
		if s.Table != nil {
			fmt.Fprintf(&text, "%s\n", s.Table.Markdown())
		}
		for _, p := range s.Plots {
			fmt.Fprintf(&text, "![%s](%s/%s.svg)\n\n", p.Title, plotFolder, p.Name)
		}
		for _, t := range s.Targets {
			fmt.Fprintln(&text, t.Markdown())
		}
		for _, note := range s.Notes {
			fmt.Fprintf(&text, "- %s\n", note)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// WriteSVG draws the plot.
func (p Plot) WriteSVG(to io.Writer) error {
	var title strings.Builder
	if err := xml.EscapeText(&title, []byte(p.Title)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>%s</title></svg>\n", title.String())
	return err
}
