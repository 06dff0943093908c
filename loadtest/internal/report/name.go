package report

import "strings"

// PlotName makes the name of a plot of some words: [a-z0-9-]+.
func PlotName(words ...string) string {
	fields := strings.FieldsFunc(strings.ToLower(strings.Join(words, " ")), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(fields, "-")
}
