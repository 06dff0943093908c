package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	plain "text/template"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	// texts are the templates of what is read as it is.
	//go:embed page.md page.txt
	texts embed.FS
	//go:embed page.html
	pageSource string
	//go:embed page.css
	pageStyle string
)

// write writes the document by a template of [texts].
func (d Document) write(to io.Writer, name string, more plain.FuncMap) error {
	functions := plain.FuncMap{"join": strings.Join, "verdicts": Verdicts}
	maps.Copy(functions, more)
	t, err := plain.New(name).Funcs(functions).ParseFS(texts, name)
	if err != nil {
		return err
	}
	return t.Execute(to, d)
}

// Print prints the document for a person: the summary, then each section with its table and notes, and targets last.
func (d Document) Print(to io.Writer) error { return d.write(to, "page.txt", nil) }

// WriteMarkdown writes the document as a page for a repository: its sentences, then the tables with notes, and
// targets last. Plots with dots become files whose names begin with beside; "": they are left out.
func (d Document) WriteMarkdown(to io.Writer, beside string) error {
	return d.write(to, "page.md", plain.FuncMap{
		"escaped": escaped,
		"words":   Table.wordy,
		"picture": func(p Plot) (string, error) {
			if p.Kind != Dots || beside == "" {
				return "", nil
			}
			var image bytes.Buffer
			file := beside + "-" + p.Name + ".svg"
			if err := errors.Join(p.WriteSVG(&image), os.WriteFile(file, image.Bytes(), 0o644)); err != nil { //nolint:gosec // it is for everybody
				return "", fmt.Errorf("write the picture %s: %w", file, err)
			}
			return filepath.Base(file), nil
		},
	})
}

// escaped is a text in which some letters are not Markdown.
func escaped(letters, text string) string {
	for _, letter := range letters {
		text = strings.ReplaceAll(text, string(letter), `\`+string(letter))
	}
	return text
}

// moods are the colours of verdicts, by the marks that they begin with.
var moods = map[string]string{Good: "good", Bad: "bad", Open: "open"}

// WriteHTML writes the document as one page that needs nothing else: its policy forbids it to load anything.
func (d Document) WriteHTML(to io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": Number, "verdicts": Verdicts,
		"style": func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // a file of this package
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
	return t.Execute(to, d)
}

// WriteJSON writes the document as one object, on one line. What is no number is null, because JSON has no word for it.
func (d Document) WriteJSON(to io.Writer) error {
	d.Schema = Schema
	numbers := json.MarshalToFunc(func(to *jsontext.Encoder, value float64) error {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return to.WriteToken(jsontext.Null)
		}
		return errors.ErrUnsupported // as usual
	})
	if err := json.MarshalWrite(to, d, json.WithMarshalers(numbers)); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

// Duration is how long the run took, for a person.
func (d Document) Duration() string {
	return time.Duration(d.Elapsed * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// Command repeats the run, by its words.
func (d Document) Command() []string {
	words := []string{"go", "run", "./loadtest", quote(d.Scenario)}
	for _, f := range d.Flags {
		switch {
		case f.Name == "seed" && d.Seed != 0, f.Value == "", f.Value == "false":
		case f.Value == "true":
			words = append(words, quote("--"+f.Name))
		default:
			words = append(words, quote("--"+f.Name+"="+f.Value))
		}
	}
	if d.Seed != 0 {
		words = append(words, "--seed="+strconv.FormatUint(d.Seed, 10))
	}
	return words
}

// quote makes one word of a text for a shell.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
