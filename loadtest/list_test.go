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
	for _, leaf := range parser.Model.Leaves(true) {
		lines := append([]string{leaf.Name + "\n  " + leaf.Help, "Shows: ", "Takes: ", "Needs: "}, strings.Split(leaf.Detail, "\n\n")...)
		_, told, _ := strings.Cut("\n"+got.out, "\n"+leaf.Name+"\n")
		told, _, _ = strings.Cut(leaf.Name+"\n"+told, "\n\n")
		for _, line := range lines {
			if !strings.Contains(told, line) && leaf.Name != "list" {
				t.Errorf("%s: the list lacks %q", leaf.Name, line)
			}
		}
	}
}
