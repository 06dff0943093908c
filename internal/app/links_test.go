package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading   = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	target    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	noAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere: each link of a document to this repository names a file that exists, and a heading that it has.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	anchors := make(map[string]map[string]bool) // of each document
	texts := make(map[string]string)            // without blocks of code
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case path.Ext(name) != ".md" || name == "loadtest/internal/report/page.md": // a template
			return nil
		}
		text, err := fs.ReadFile(root, name)
		texts[name] = codeBlock.ReplaceAllString(string(text), "")
		anchors[name] = anchorsOf(texts[name])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for name, text := range texts {
		for _, found := range target.FindAllStringSubmatch(text, -1) {
			file, anchor, hasAnchor := strings.Cut(found[1], "#")
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := fs.Stat(root, to); err != nil {
				t.Errorf("%s links to %s: %v", name, found[1], err)
			} else if hasAnchor && !anchors[to][anchor] {
				t.Errorf("%s links to %s, which has no such heading", name, found[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("got %d links, want 100 at least: the pattern finds no others", links)
	}
}

// anchorsOf returns the anchors of a document's headings, as GitHub makes them.
func anchorsOf(text string) map[string]bool {
	anchors := make(map[string]bool)
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(h[1], "$1")
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(words), ""), " ", "-")
		again := anchor
		for n := 1; anchors[again]; n++ {
			again = fmt.Sprintf("%s-%d", anchor, n)
		}
		anchors[again] = true
	}
	return anchors
}
