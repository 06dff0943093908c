package cli

import (
	"embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed completion/*.tmpl
var completions embed.FS

// place is a command and what may follow it on the line.
type place struct {
	Name     string   // the last word of Path
	Path     []string // the words behind the program's name
	Help     string
	Commands []place
	Flags    []flag
	Values   []string // that the command's argument may have
}

// flag is a flag of a command.
type flag struct {
	Name, Help string
	Switch     bool     // takes no value
	File       bool     // takes the name of a file
	Values     []string // that it may have; none: any
}

// Key returns the path in the form that the scripts use: a blank before each word.
func (p place) Key() string { return key(p.Path) }

func key(path []string) string {
	var k strings.Builder
	for _, word := range path {
		k.WriteString(" " + word)
	}
	return k.String()
}

// Siblings returns the names of the commands.
func (p place) Siblings() string {
	var names []string
	for _, c := range p.Commands {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// Words returns the words that may come next, except the values of flags.
func (p place) Words() string {
	words := append(strings.Fields(p.Siblings()), p.Values...)
	for _, f := range p.Flags {
		words = append(words, "--"+f.Name)
	}
	return strings.Join(words, " ")
}

// WriteCompletion writes the script that completes the commands and flags of a program for bash, zsh or fish. The
// script is self-contained: it does not run the program.
func WriteCompletion(to io.Writer, shell string, program *kong.Node) error {
	parsed, err := template.New(shell+".tmpl").Funcs(template.FuncMap{
		"join":  func(words []string) string { return strings.Join(words, " ") },
		"quote": func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" },
		"all":   all,
	}).ParseFS(completions, "completion/"+shell+".tmpl")
	if err != nil {
		return fmt.Errorf("completion for %s: %w", shell, err)
	}
	root := placeOf(program, nil)
	root.Name = program.Name
	return parsed.Execute(to, root)
}

// all returns a place and the places below it.
func all(p place) []place {
	places := []place{p}
	for _, c := range p.Commands {
		places = append(places, all(c)...)
	}
	return places
}

func placeOf(node *kong.Node, path []string) place {
	p := place{Path: path, Help: firstSentence(node.Help)}
	if len(path) > 0 {
		p.Name = path[len(path)-1]
	}
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			p.Flags = append(p.Flags, flag{
				Name: f.Name, Help: firstSentence(f.Help), Switch: f.IsBool() || f.IsCounter(), File: f.PlaceHolder == "FILE",
				Values: values(f.Value),
			})
		}
	}
	for _, argument := range node.Positional {
		p.Values = append(p.Values, values(argument)...)
	}
	for _, child := range node.Children {
		if !child.Hidden {
			p.Commands = append(p.Commands, placeOf(child, append(path[:len(path):len(path)], child.Name)))
		}
	}
	return p
}

func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	var known []string
	for _, value := range v.EnumSlice() {
		if value != "" {
			known = append(known, value)
		}
	}
	return known
}

func firstSentence(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}
