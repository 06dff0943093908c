package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentsShowWhatExplainWrote: README.md and BENCHMARKS.md have a table of the page that explain --markdown wrote.
func TestDocumentsShowWhatExplainWrote(t *testing.T) {
	t.Parallel()
	written := readFile(t, "../docs/benchmarks/explain.md")
	for _, document := range []string{"../README.md", "../docs/BENCHMARKS.md"} {
		_, rest, begins := strings.Cut(readFile(t, document), "<!-- explain: begin -->\n")
		table, _, ends := strings.Cut(rest, "<!-- explain: end -->")
		if !begins || !ends || !strings.HasPrefix(table, "| factor |") || !strings.Contains(written, "\n\n"+table+"\n") {
			t.Errorf("%s has, and docs/benchmarks/explain.md has not:\n%s", document, table)
		}
	}
}

// TestPagesAreShort: long pages are not read.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for page, most := range map[string]int{"BENCHMARKS.md": 1000, "LAB.md": 1500, "SCALE.md": 1200} {
		text, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		if words := len(strings.Fields(string(text))); words > most {
			t.Errorf("docs/%s has %d words, want %d at most", page, words, most)
		}
	}
}
