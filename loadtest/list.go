package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
)

// about is what a scenario tells of itself beside its flags. Its command's Help returns it, for --help and for list.
type about struct {
	Shows string // what one learns from it
	Full  string // how long a full run takes
	Quick string // how long one with --quick takes; "": it has none
	Needs string // beside Go
	Cases []string
}

// String is a paragraph for each.
func (a about) String() string {
	takes := "Takes: " + a.Full
	if a.Quick != "" {
		takes += "; with --quick " + a.Quick
	}
	paragraphs := []string{"Shows: " + a.Shows, takes + ".", "Needs: " + a.Needs}
	if len(a.Cases) > 0 {
		paragraphs = append(paragraphs, "Cases: "+strings.Join(a.Cases, ", ")+".")
	}
	return strings.Join(paragraphs, "\n\n")
}

// needsServers is what scenarios need that compare on real servers.
const needsServers = "the programs of PostgreSQL and Redis (scripts/install-servers finds them), of which it starts its own; " +
	"or servers of yours: --database-url, --redis-url."

type listCommand struct{}

// Run explains the scenarios. Which there are, and what each tells of itself, stands in the grammar.
func (*listCommand) Run(parsed *kong.Context, s cli.Streams) error {
	var tools []*kong.Node
	for _, leaf := range parsed.Model.Leaves(true) {
		if !isScenario(leaf) {
			tools = append(tools, leaf)
			continue
		}
		if err := describe(s.Out, leaf); err != nil {
			return fmt.Errorf("print the list: %w", err)
		}
	}
	text := "Every scenario tells of its flags: go run ./loadtest SCENARIO --help. Beside them there are:\n"
	for _, tool := range tools {
		text += fmt.Sprintf("  %s: %s\n", tool.Name, tool.Help)
	}
	if _, err := io.WriteString(s.Out, text); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}

// describe prints what a scenario tells of itself.
func describe(to io.Writer, scenario *kong.Node) error {
	text := fmt.Sprintf("%s\n  %s\n", scenario.Name, scenario.Help)
	for line := range strings.Lines(scenario.Detail) {
		if line = strings.TrimSpace(line); line != "" {
			text += "  " + line + "\n"
		}
	}
	_, err := io.WriteString(to, text+"\n")
	return err
}

// isScenario tells whether a command measures: those deliver reports.
func isScenario(command *kong.Node) bool { return flagNamed(command, "json") != nil }

// flagNamed returns the flag of a name, nil if there is none.
func flagNamed(command *kong.Node, name string) *kong.Flag {
	for _, flag := range command.Flags {
		if flag.Name == name {
			return flag
		}
	}
	return nil
}
