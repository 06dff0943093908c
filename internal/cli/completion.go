package cli

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed completion/*.tmpl
var completions embed.FS

// WriteCompletion writes the script that completes the commands and flags of a program for bash, zsh or fish. The
// script is self-contained: it does not run the program.
func WriteCompletion(to io.Writer, shell string, program *kong.Node) error {
	parsed, err := template.New(shell+".tmpl").Funcs(template.FuncMap{
		"all": all, "flags": flags, "key": key, "values": values, "arguments": arguments, "words": words,
		"join":  func(words []string) string { return strings.Join(words, " ") },
		"quote": func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" },
		"sentence": func(help string) string {
			first, _, _ := strings.Cut(help, ". ")
			return strings.TrimSuffix(first, ".")
		},
	}).ParseFS(completions, "completion/"+shell+".tmpl")
	if err != nil {
		return fmt.Errorf("completion for %s: %w", shell, err)
	}
	return parsed.Execute(to, program)
}

// all returns a command and the commands below it.
func all(n *kong.Node) []*kong.Node {
	nodes := []*kong.Node{n}
	for _, c := range n.Children {
		nodes = append(nodes, all(c)...)
	}
	return nodes
}

func flags(n *kong.Node) []*kong.Flag { return slices.Concat(n.AllFlags(true)...) }

// key returns the words that name a command behind the program's name, in the form that the scripts use: a blank before each.
func key(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return key(n.Parent) + " " + n.Name
}

// values returns what a flag or an argument may be; none: anything.
func values(v *kong.Value) []string {
	return slices.DeleteFunc(v.EnumSlice(), func(value string) bool { return value == "" })
}

// arguments returns what the arguments of a command may be.
func arguments(n *kong.Node) (known []string) {
	for _, argument := range n.Positional {
		known = append(known, values(argument)...)
	}
	return known
}

// words returns what may come next, except the values of flags.
func words(n *kong.Node) (next []string) {
	for _, c := range n.Children {
		next = append(next, c.Name)
	}
	next = append(next, arguments(n)...)
	for _, f := range flags(n) {
		next = append(next, "--"+f.Name)
	}
	return next
}
