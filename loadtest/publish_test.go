package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inventory/loadtest/internal/publish"
)

// docs is where the document of published figures is, its plots, and the reports they were made of.
const docs = "../docs"

// differences publishes the reports of a folder again, into a copy, and returns what would change.
func differences(t *testing.T, folder, readme string) (changed []string) {
	t.Helper()
	reports, err := filepath.Glob(filepath.Join(folder, "benchmarks", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	job := publish.Job{Readme: filepath.Join(again, "README.md"), Plots: filepath.Join(again, "plots"), Reports: reports}
	documents, err := filepath.Glob(filepath.Join(folder, "[BS]*.md")) // BENCHMARKS.md, and SCALE.md where it is
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		job.Documents = append(job.Documents, filepath.Join(again, filepath.Base(document)))
		if err := os.WriteFile(job.Documents[len(job.Documents)-1], []byte(readFile(t, document)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(job.Readme, []byte(readFile(t, readme)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := publish.Run(job); err != nil {
		t.Fatal(err)
	}
	if readFile(t, job.Readme) != readFile(t, readme) {
		changed = append(changed, "README.md")
	}
	for i, document := range documents {
		if readFile(t, job.Documents[i]) != readFile(t, document) {
			changed = append(changed, filepath.Base(document))
		}
	}
	was, is := madeOf(t, folder), madeOf(t, again)
	for name, text := range is {
		if was[name] != text {
			changed = append(changed, name)
		}
	}
	for name := range was {
		if _, stays := is[name]; !stays {
			changed = append(changed, name)
		}
	}
	return changed
}

// madeOf are the plots and the pages beside a document, by their names.
func madeOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	made := map[string]string{}
	for _, pattern := range []string{filepath.Join("plots", "*", "*.svg"), filepath.Join("benchmarks", "*.md")} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(folder, file)
			if err != nil {
				t.Fatal(err)
			}
			made[name] = readFile(t, file)
		}
	}
	return made
}

// TestTheDocumentIsThatOfItsReports: what docs/BENCHMARKS.md shows is what docs/benchmarks holds.
func TestTheDocumentIsThatOfItsReports(t *testing.T) {
	t.Parallel()
	if changed := differences(t, docs, "../README.md"); len(changed) > 0 {
		t.Errorf("go run ./loadtest publish docs/benchmarks/*.json would change %q", changed)
	}
}

// TestPagesAreShort: the reports fill in most of a page, and long pages are not read.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for page, most := range map[string]int{"BENCHMARKS.md": 4000, "LAB.md": 3000} {
		text, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		if words := len(strings.Fields(string(text))); words > most {
			t.Errorf("docs/%s has %d words, want %d at most", page, words, most)
		}
	}
}

// TestAChangedDocumentIsNoticed publishes a replay as a person does, and then changes what was published.
func TestAChangedDocumentIsNoticed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "benchmarks"), 0o700); err != nil {
		t.Fatal(err)
	}
	document, result := filepath.Join(folder, "BENCHMARKS.md"), filepath.Join(folder, "benchmarks", "replay.json")
	readme := filepath.Join(folder, "README.md")
	for _, file := range []string{document, readme} {
		if err := os.WriteFile(file, []byte("# Figures\n<!-- replay: begin -->\n<!-- replay: end -->\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := runWith(t.Context(), "replay", "--stock-factor=0.5", "--orders", writeFile(t, handMade), "--json", result); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	got := runWith(t.Context(), "publish", "--into", document, "--readme", readme, "--plots", filepath.Join(folder, "plots"), result)
	if got.code != 0 || !strings.Contains(got.out, "replay, 1 plots") {
		t.Fatalf("%+v", got)
	}
	if changed := differences(t, folder, readme); len(changed) > 0 {
		t.Errorf("as published: %q", changed)
	}
	if text := readFile(t, readme); !strings.Contains(text, "- ") || strings.Contains(text, "| accepted |") {
		t.Errorf("the readme has more or less than the sentences:\n%s", text)
	}
	text := strings.Replace(readFile(t, document), "| accepted | 4 |", "| accepted | 5 |", 1)
	if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(folder, "benchmarks", "replay.md")
	if err := os.WriteFile(page, []byte(strings.Replace(readFile(t, page), "| accepted | 4 |", "| accepted | 5 |", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "plots")); err != nil {
		t.Fatal(err)
	}
	if changed := differences(t, folder, readme); len(changed) != 3 {
		t.Errorf("with another cell, on both pages, and without its plot: %q", changed)
	}
}

func TestPublishWithWrongFlags(t *testing.T) {
	t.Parallel()
	page := writeFile(t, "no marks\n")
	runWith(t.Context(), "publish").wantOneLine(t, "<report>")
	runWith(t.Context(), "publish", "--into", page, "none.json").wantOneLine(t, "none.json: no such file")
	runWith(t.Context(), "publish", "--into", page+".not", "none.json").wantOneLine(t, "no such file")
}
