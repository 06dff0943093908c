package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

// page is what the template has beside the document.
type page struct {
	Document
	Style   template.CSS
	Met     int // of the targets
	Targets []Target
}

// WriteHTML writes the document as one page that needs nothing beside itself: it opens without a network, and its policy
// forbids it to ask for anything.
func (d Document) WriteHTML(to io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": Number,
		"plot": func(p Plot) (template.HTML, error) {
			text, err := p.inline()
			return template.HTML(text), err // encoding/xml has escaped it
		},
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	p := page{Document: d, Style: template.CSS(plotStyle + pageStyle), Targets: d.Targets()} // files of this package
	for _, target := range p.Targets {
		if target.Met {
			p.Met++
		}
	}
	return t.Execute(to, p)
}
