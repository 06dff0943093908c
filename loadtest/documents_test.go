package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var write = flag.Bool("write", false, "write figures of pages into the documents that show them")

// shows checks that a document has a text between the marks of a name, or writes it there.
func shows(t *testing.T, document, name, want string) {
	t.Helper()
	before, rest, begins := strings.Cut(readFile(t, document), "<!-- "+name+": begin -->\n")
	block, after, ends := strings.Cut(rest, "<!-- "+name+": end -->")
	switch {
	case !begins || !ends:
		t.Errorf("%s has no marks of %s", document, name)
	case *write:
		text := before + "<!-- " + name + ": begin -->\n" + want + "<!-- " + name + ": end -->" + after
		if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	case block != want:
		t.Errorf("%s has between the marks of %s\n%s\nand the page says\n%s\nrun make figures", document, name, block, want)
	}
}

// TestPlotOfExplainIsOfItsRun: the plot beside the page that explain --markdown wrote has the rows of its first table.
func TestPlotOfExplainIsOfItsRun(t *testing.T) {
	t.Parallel()
	written, picture := readFile(t, "../docs/benchmarks/explain.md"), readFile(t, "../docs/benchmarks/explain-effects.svg")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+, not [^|]+) \| × (\S+) \|`).FindAllStringSubmatch(written, -1)
	if len(rows) != 4 {
		t.Errorf("got %q, want a row for batches, segments, processes and locks", rows)
	}
	for _, row := range rows {
		if !strings.Contains(picture, ">"+row[1]+"<") || !strings.Contains(picture, ">"+row[2]+"<") {
			t.Errorf("the plot is of another run than %q", row[0])
		}
	}
}

// TestReadmeShowsTheAfternoon: README.md has the first table of the page that contenders --markdown wrote.
func TestReadmeShowsTheAfternoon(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(readFile(t, "../docs/benchmarks/afternoon.md"), "\n## ")
	_, rest, _ = strings.Cut(rest, "\n\n")
	table, _, _ := strings.Cut(rest, "\n\n## ")
	if strings.Count(table, "\n| ") < 4 {
		t.Fatalf("the page has no table: %q", table)
	}
	shows(t, "../README.md", "afternoon", strings.TrimSpace(table)+"\n")
}

// TestAPIShowsWhatIDsCost: API.md has the last table of the page that years --markdown wrote.
func TestAPIShowsWhatIDsCost(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(readFile(t, "../docs/benchmarks/years.md"), "\n## Write-ahead log\n\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	if strings.Count(table, "\n| ") != 3 {
		t.Fatalf("the page has no table of three kinds of ids: %q", table)
	}
	shows(t, "../docs/API.md", "ids", table+"\n")
}

// TestPagesAreOfTheirCommands: each page of docs/benchmarks names the command that made it, which the program still knows, and the
// commit of that program. BENCHMARKS.md lists each page with the commit.
func TestPagesAreOfTheirCommands(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/benchmarks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	list := readFile(t, "../docs/BENCHMARKS.md")
	for _, page := range pages {
		name, text := filepath.Base(page), readFile(t, page)
		made := regexp.MustCompile("^# (\\S+)\n\n`go run \\./loadtest (.+)` made this page\\.\n").FindStringSubmatch(text)
		if made == nil {
			t.Errorf("%s does not begin with its scenario and its command", name)
			continue
		}
		parser, err := kong.New(&scenarios{}, options()...)
		if err != nil {
			t.Fatal(err)
		}
		if command, err := parser.Parse(strings.Fields(made[2])); err != nil || command.Selected().Name != made[1] {
			t.Errorf("%s is not of a command of this program: %q: %v", name, made[2], err)
		}
		commit := regexp.MustCompile(`\n- audit: OK\n- [^\n]*; revision ([0-9a-f]{12})[;.]`).FindStringSubmatch(text)
		if commit == nil {
			t.Errorf("%s does not name the commit of a clean checkout", name)
			continue
		}
		row := regexp.MustCompile(`(?m)^(\| \[.+\]\(benchmarks/` + name + `\) .*\|) \S+ \|$`)
		if told := row.ReplaceAllString(list, "$1 "+commit[1]+" |"); *write && told != list {
			list = told
			if err := os.WriteFile("../docs/BENCHMARKS.md", []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if !row.MatchString(list) || told != list {
			t.Errorf("docs/BENCHMARKS.md has no row of %s with its commit %s, run make figures", name, commit[1])
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
