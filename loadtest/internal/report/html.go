package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

var (
	//go:embed page.html
	pageSource string
	//go:embed page.css
	pageStyle string
)

// page is what the template needs in addition to the document.
type page struct {
	Document
	Style template.CSS
}

// moods are the colours of verdicts, by the marks that they begin with.
var moods = map[string]string{Good: "good", Bad: "bad", Open: "open"}

// WriteHTML writes the document as one page that needs nothing else: its policy forbids it to load anything.
func (d Document) WriteHTML(to io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": Number, "verdicts": Verdicts,
		"mood": func(verdict string) string {
			mark, _, _ := strings.Cut(verdict, " ")
			return moods[mark]
		},
		"class": func(t *Table, column int) string { return map[bool]string{true: "words"}[t.wordy(column)] },
		"plot": func(p Plot) (template.HTML, error) {
			image, err := p.svg()
			return template.HTML(image), err //nolint:gosec // its texts are escaped
		},
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	return t.Execute(to, page{d, template.CSS(pageStyle)}) //nolint:gosec // a file of this package
}
