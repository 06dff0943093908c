package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// generated is what a document has between the marks of a name.
func generated(t *testing.T, document, name string) string {
	t.Helper()
	_, rest, begins := strings.Cut(readFile(t, document), "<!-- "+name+": begin -->\n")
	block, _, ends := strings.Cut(rest, "<!-- "+name+": end -->")
	if !begins || !ends {
		t.Errorf("%s has no marks of %s", document, name)
	}
	return block
}

// TestDocumentsShowWhatExplainWrote: README.md and BENCHMARKS.md have the table, the plot and the line of the page that
// explain --markdown wrote, and the plot is of the same run.
func TestDocumentsShowWhatExplainWrote(t *testing.T) {
	t.Parallel()
	written, picture := readFile(t, "../docs/benchmarks/explain.md"), readFile(t, "../docs/benchmarks/explain-effects.svg")
	for document, folder := range map[string]string{"../README.md": "docs/benchmarks/", "../docs/BENCHMARKS.md": "benchmarks/"} {
		block := generated(t, document, "explain")
		shown := strings.Replace(block, "]("+folder, "](", 1)
		if !strings.HasPrefix(block, "| with |") || shown == block || !strings.Contains(written, "\n\n"+shown+"\n") {
			t.Errorf("%s has, and docs/benchmarks/explain.md has not:\n%s", document, block)
		}
		for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+, not [^|]+) \| × (\S+) \|`).FindAllStringSubmatch(block, -1) {
			if !strings.Contains(picture, ">"+row[1]+"<") || !strings.Contains(picture, ">"+row[2]+"<") {
				t.Errorf("the plot is of another run than %q", row[0])
			}
		}
	}
}

// TestDocumentsShowTheAfternoon: README.md and BENCHMARKS.md have the first table of the page that contenders --markdown wrote.
func TestDocumentsShowTheAfternoon(t *testing.T) {
	t.Parallel()
	written := readFile(t, "../docs/benchmarks/afternoon.md")
	for _, document := range []string{"../README.md", "../docs/BENCHMARKS.md"} {
		if block := generated(t, document, "afternoon"); strings.Count(block, "\n| ") < 4 || !strings.Contains(written, "\n\n"+block+"\n") {
			t.Errorf("%s has, and docs/benchmarks/afternoon.md has not:\n%s", document, block)
		}
	}
}

// TestDocumentedCommandsParse: each command of the lab that a document tells, with its flags.
func TestDocumentedCommandsParse(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, document := range append(documents, "../README.md", "../CONTRIBUTING.md") {
		for _, told := range regexp.MustCompile("go run ./loadtest ([^`\n#|&>]+)").FindAllStringSubmatch(readFile(t, document), -1) {
			var args []string
			for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(told[1], -1) {
				args = append(args, strings.Trim(word, `"`))
			}
			if args[0] == "SCENARIO" {
				continue
			}
			commands++
			if parser, err := kong.New(&scenarios{}, options()...); err != nil {
				t.Fatal(err)
			} else if _, err := parser.Parse(args); err != nil {
				t.Errorf("%s tells %q: %v", document, args, err)
			}
		}
	}
	if commands < 10 {
		t.Errorf("got %d commands, want 10 at least: the pattern finds no others", commands)
	}
}

// TestPagesAreShort: long pages are not read.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for page, most := range map[string]int{"BENCHMARKS.md": 1000, "LAB.md": 1500, "SCALE.md": 1200} {
		if words := len(strings.Fields(readFile(t, "../docs/"+page))); words > most {
			t.Errorf("docs/%s has %d words, want %d at most", page, words, most)
		}
	}
}
