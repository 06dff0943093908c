package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestEveryScenarioIsListed checks the grammar: every new command must be described in the list.
func TestEveryScenarioIsListed(t *testing.T) {
	t.Parallel()
	got := runWith(t.Context(), "list")
	if got.code != 0 || got.err != "" {
		t.Fatalf("%+v", got)
	}
	parser, err := kong.New(&scenarios{}, options()...)
	if err != nil {
		t.Fatal(err)
	}
	listed := "\n" + got.out
	for _, leaf := range parser.Model.Leaves(false) {
		there := strings.Contains(listed, "\n"+leaf.Name+"\n  "+leaf.Help+"\n") || strings.Contains(listed, "\n  "+leaf.Name+": "+leaf.Help+"\n")
		if there == leaf.Hidden {
			t.Errorf("%s is hidden: %v, and listed: %v", leaf.Name, leaf.Hidden, there)
		}
		if leaf.Hidden || !isScenario(leaf) {
			continue
		}
		for _, part := range []string{"Shows: ", "Takes: ", "Needs: "} {
			if !strings.Contains(leaf.Detail, part) {
				t.Errorf("%s does not tell %q: its Help should return an about", leaf.Name, part)
			}
		}
		for line := range strings.Lines(leaf.Detail) {
			if !strings.Contains(listed, strings.TrimSpace(line)) {
				t.Errorf("%s: the list lacks %q", leaf.Name, line)
			}
		}
	}
}
