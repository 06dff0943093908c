package lockbench

import (
	"fmt"
	"strings"

	"inventory/loadtest/internal/compare"
)

// Markdown returns the tables of all cases, each with its targets.
func (r Result) Markdown() string {
	var text strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&text, "\n### %s\n\n%s\n", c.Name, c.table().Markdown())
		for _, t := range c.Targets() {
			fmt.Fprintln(&text, t.Markdown())
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

// Into returns a document with the result in place of an earlier one, and with what stands around it.
func (r Result) Into(document string) string { return compare.Into(document, "locks", r.Markdown()) }
