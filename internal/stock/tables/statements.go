package tables

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SQL is the text of a statement.
type SQL struct {
	Text    string
	Patient bool // it may take as long as its caller allows, because it reads or changes many rows
}

// Set are statements by their names.
type Set map[string]SQL

// Of returns the statement of a name. A name that is not there is a mistake in the program.
func (s Set) Of(name string) SQL {
	one, there := s[name]
	if !there {
		panic("there is no statement " + name)
	}
	return one
}

// The marks of .sql files. Each is the beginning of a line.
const (
	nameMark    = "-- name:"
	pieceMark   = "-- piece:"
	includeMark = "-- include "
)

// ReadSQL reads the statements of all .sql files of a folder, by their names:
//
//	-- In: @sku_id, @order_ids   Comments name the parameters, in the order of the arguments: those at the top of the file, then those
//	                             of the statement. The first time that one is named counts.
//	-- name: NAME :patient       begins a statement. A file without such lines is one statement, with the file's name.
//	-- piece: NAME               begins a piece of later statements of the file, which
//	-- include NAME              stands for.
//
// It panics if two statements, or two pieces of a file, have one name, if a piece is not used, or if the parameters of a statement are not
// those that its comments name: the files are part of the program.
func ReadSQL(folder fs.FS) Set {
	all := make(Set)
	files, _ := fs.Glob(folder, "*.sql") // its only error is for a bad pattern
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			panic(err)
		}
		all.add(strings.TrimSuffix(file, ".sql"), string(text))
	}
	return all
}

// section is a statement, a piece, or the top of a file.
type section struct {
	mark, name     string
	comments, text string
}

// sections divides a file.
func sections(file, text string) []section {
	all := []section{{name: file}}
	for line := range strings.Lines(text) {
		one := &all[len(all)-1]
		switch {
		case strings.HasPrefix(line, nameMark), strings.HasPrefix(line, pieceMark):
			mark, name, _ := strings.Cut(line, ":")
			all = append(all, section{mark: mark + ":", name: strings.TrimSpace(name)})
		case strings.HasPrefix(line, "--") && !strings.HasPrefix(line, includeMark):
			one.comments += line
		default:
			one.text += line
		}
	}
	return all
}

// add adds the statements of a file.
func (s Set) add(file, text string) {
	pieces, top := make(map[string]*piece), ""
	for i, one := range sections(file, text) {
		text := strings.Trim(included(one, pieces), "; \n")
		switch {
		case one.mark == pieceMark:
			if pieces[one.name] != nil {
				panic(fmt.Sprintf("two pieces of %s.sql are named %q", file, one.name))
			}
			pieces[one.name] = &piece{text: text + "\n"}
		case i == 0 && text == "":
			top = one.comments
		default:
			name, patient := strings.CutSuffix(one.name, " :patient")
			if _, again := s[name]; again {
				panic(fmt.Sprintf("two statements are named %q", name))
			}
			s[name] = SQL{Text: numbered(name, top+one.comments, text), Patient: patient}
		}
	}
	for name, p := range pieces {
		if !p.used {
			panic(fmt.Sprintf("no statement of %s.sql includes %q", file, name))
		}
	}
}

// piece is a text that statements include.
type piece struct {
	text string
	used bool
}

// included returns the text of a section with the pieces that it includes.
func included(one section, pieces map[string]*piece) string {
	var text strings.Builder
	for line := range strings.Lines(one.text) {
		if name, is := strings.CutPrefix(line, includeMark); is {
			p := pieces[strings.TrimSpace(name)]
			if p == nil {
				panic(fmt.Sprintf("%q includes %q, which does not come before it", one.name, strings.TrimSpace(name)))
			}
			line, p.used = p.text, true
		}
		text.WriteString(line)
	}
	return text.String()
}

var (
	parameter = regexp.MustCompile(`@[a-z][a-z0-9_]*`)
	number    = regexp.MustCompile(`\$[0-9]`)
)

// numbered returns a statement with the numbers of its parameters in place of their names.
func numbered(name, comments, text string) string {
	var names []string
	for _, named := range parameter.FindAllString(comments, -1) {
		if !slices.Contains(names, named) {
			names = append(names, named)
		}
	}
	if numbers := number.FindAllString(text, -1); len(names) > 0 && numbers != nil {
		panic(fmt.Sprintf("the statement %q has the parameters %v, and numbers besides: %v", name, names, numbers))
	}
	var used []string
	text = parameter.ReplaceAllStringFunc(text, func(named string) string {
		used = append(used, named)
		return "$" + strconv.Itoa(slices.Index(names, named)+1)
	})
	slices.Sort(used)
	if used = slices.Compact(used); !slices.Equal(used, slices.Sorted(slices.Values(names))) {
		panic(fmt.Sprintf("the statement %q has the parameters %v, and its comments name %v", name, used, names))
	}
	return text
}
