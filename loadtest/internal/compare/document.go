package compare

import "strings"

// Into returns a document with tables between its lines <!-- mark: begin --> and <!-- mark: end -->, in place of what
// stands there. Without those lines the document is the tables.
func Into(document, mark, tables string) string {
	begin, end := "<!-- "+mark+": begin -->\n", "<!-- "+mark+": end -->\n"
	before, rest, begins := strings.Cut(document, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return begin + tables + end
	}
	return before + begin + tables + end + after
}
