package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
)

var (
	//go:embed page.html
	pageSource string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// page is what the template needs in addition to the document.
type page struct {
	Document
	Style      template.CSS
	Script     template.JS
	ScriptHash string // of the only script that the page's policy allows
	Met        int    // of the targets
	Targets    []Target
}

// WriteHTML writes the document as one page that needs nothing else: its policy forbids it to load anything.
func (d Document) WriteHTML(to io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": Number,
		"plot":   func(p Plot) template.HTML { return template.HTML(p.inline()) }, //nolint:gosec // its texts are escaped
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(pageScript))
	p := page{
		Document: d, Style: template.CSS(plotStyle + pageStyle), Script: template.JS(pageScript), //nolint:gosec // files of this package
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(hash[:]), Targets: d.Targets(),
	}
	for _, target := range p.Targets {
		if target.Met {
			p.Met++
		}
	}
	return t.Execute(to, p)
}
