package report

import (
	_ "embed"
	"html/template"
	"io"
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
	Style   template.CSS
	Met     int // of the targets
	Targets []Target
}

// WriteHTML writes the document as one page that needs nothing else: its policy forbids it to load anything.
func (d Document) WriteHTML(to io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": Number,
		"plot": func(p Plot) (template.HTML, error) {
			image, err := p.svg()
			return template.HTML(image), err //nolint:gosec // its texts are escaped
		},
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	p := page{Document: d, Style: template.CSS(pageStyle), Targets: d.Targets()} //nolint:gosec // a file of this package
	for _, target := range p.Targets {
		if target.Met {
			p.Met++
		}
	}
	return t.Execute(to, p)
}
