package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	timeoutRow = regexp.MustCompile("(?m)^\\| (.+) \\| (\\S+ (?:ms|s|m)) \\| `(\\w+)` in (\\S+) \\|$")
	inCode     = regexp.MustCompile(`^(?:(\d+) \* )?time\.(Millisecond|Second|Minute)\b|^"(\w+)"`)
)

// TestTheHandbookKnowsTheTimeouts: each time-out in the table is in the code, under its name and with its value.
func TestTheHandbookKnowsTheTimeouts(t *testing.T) {
	t.Parallel()
	var rows [][]string
	read(t, "../../docs/OPERATIONS.md", func(text []byte) error {
		rows = timeoutRow.FindAllStringSubmatch(string(text), -1)
		return nil
	})
	if len(rows) < 25 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		want, err := time.ParseDuration(strings.ReplaceAll(row[2], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		read(t, "../../"+row[4], func(text []byte) error {
			if got := valueOf(t, string(text), row[3]); got != want {
				t.Errorf("%s is %s in %s, and %s in the handbook", row[3], got, row[4], want)
			}
			return nil
		})
	}
}

// TestTheHandbookIsShort: an operator reads it in an incident. Its list of contents leads to each of its chapters.
func TestTheHandbookIsShort(t *testing.T) {
	t.Parallel()
	const most = 4400 // words
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(text))); words > most {
		t.Errorf("it has %d words, want %d at most", words, most)
	}
	contents, _, _ := strings.Cut(string(text), "\n## ")
	chapters := regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(string(text), -1)
	for _, chapter := range chapters {
		anchor := strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(chapter[1]), ""), " ", "-")
		if !strings.Contains(contents, "(#"+anchor+")") {
			t.Errorf("the list of contents lacks %q (#%s)", chapter[1], anchor)
		}
	}
	for _, link := range regexp.MustCompile(`\(#([a-z0-9-]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(contents, "(#"+link[1]+")") {
			t.Errorf("it has no chapter #%s", link[1])
		}
	}
}

// valueOf finds the value of a name in Go code; 0 if it has none.
func valueOf(t *testing.T, code, name string) time.Duration {
	t.Helper()
	if found := regexp.MustCompile(name + `\((\d+)\)`).FindStringSubmatch(code); found != nil { // a pragma, in milliseconds
		return parse(t, found[1]+"ms")
	}
	assignment := regexp.MustCompile(`(?m)\b` + name + `\b[\w., ]*? = (.+)$`).FindStringSubmatch(code)
	if assignment == nil {
		return 0
	}
	value := inCode.FindStringSubmatch(assignment[1])
	switch {
	case value == nil:
		return 0
	case value[3] != "":
		return parse(t, value[3])
	}
	unit := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute}[value[2]]
	if value[1] == "" {
		return unit
	}
	n, err := strconv.Atoi(value[1])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * unit
}

func parse(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTheHandbookKnowsTheEnvironments: each row of the table names tests that exist, and each test of an environment has a row.
func TestTheHandbookKnowsTheEnvironments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/ENVIRONMENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	table := string(text)
	var code strings.Builder
	err = filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			read(t, path, func(text []byte) error { _, err := code.Write(text); return err })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| (?:works|works with a setting|refused|works; refused) \| .+ \| (.+) \|$`).FindAllStringSubmatch(table, -1)
	if want := strings.Count(table, "\n|") - 2; len(rows) != want || want < 15 {
		t.Errorf("%d of %d rows name an environment, a verdict, a setting and tests", len(rows), want)
	}
	for _, row := range rows {
		for name := range strings.SplitSeq(row[1], ", ") {
			if !strings.Contains(code.String(), "\nfunc "+strings.Trim(name, "`")+"(t *testing.T)") {
				t.Errorf("there is no %s", name)
			}
		}
	}
	for _, name := range regexp.MustCompile(`\nfunc (TestBehind\w+)\(`).FindAllStringSubmatch(code.String(), -1) {
		if !strings.Contains(table, "`"+name[1]+"`") {
			t.Errorf("no row names %s", name[1])
		}
	}
}

// TestDocumentsAreBritish: documents, the API's texts and the pages spell words in one way.
func TestDocumentsAreBritish(t *testing.T) {
	t.Parallel()
	american := regexp.MustCompile(`^(behavior|cancel(ed|ing)|catalog|favor|fulfill|gray|honor|labeled|neighbor|.*(organ|normal|real|recogn|serial|synchron|optim|minim|initial|random)iz(e|ed|es|ing))$`)
	is := make(map[string]bool) // each word is looked at once
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "internal/*/*.md", "internal/api/openapi.yaml", "internal/api/problem.go", "internal/*/web/*"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			read(t, file, func(text []byte) error {
				for word := range strings.FieldsFuncSeq(strings.ToLower(string(text)), func(r rune) bool { return r < 'a' || r > 'z' }) {
					if _, known := is[word]; !known {
						is[word] = american.MatchString(word)
					}
					if is[word] {
						t.Errorf("%s has the American %q", file, word)
					}
				}
				return nil
			})
		}
	}
}
