package lockbench

import (
	"fmt"
	"strings"
)

// What stands between these lines of a document is a result.
const (
	beginMark = "<!-- locks: begin -->\n"
	endMark   = "<!-- locks: end -->\n"
)

// Markdown returns the tables of all cases, each with its targets.
func (r Result) Markdown() string {
	var text strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&text, "\n### %s\n\n", c.Name)
		for i, row := range c.rows() {
			fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
			}
		}
		text.WriteString("\n")
		for _, t := range c.Targets() {
			verdict := "met"
			if !t.Met() {
				verdict = "**missed**"
			}
			fmt.Fprintf(&text, "- %s, %s\n", t.figure(), verdict)
		}
		for _, contender := range c.Contenders {
			if contender.Note != "" {
				fmt.Fprintf(&text, "- %s: %s\n", contender.Name, contender.Note)
			}
		}
	}
	text.WriteString("\n")
	return text.String()
}

// Into returns a document with the result between its marks, in place of what stands there. Without marks the document
// is the result.
func (r Result) Into(document string) string {
	before, rest, begins := strings.Cut(document, beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return beginMark + r.Markdown() + endMark
	}
	return before + beginMark + r.Markdown() + endMark + after
}
