package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inventory/internal/busytest"
)

// TestDocumentedCommandsWork runs the commands of README.md and docs/API.md in their order, and compares the answers with
// those in the documents.
func TestDocumentedCommandsWork(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("curl is missing, which the documents use: scripts/install-servers finds or installs it")
	}
	for _, file := range []string{"README.md", "docs/API.md"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			commands := commandsOf(t, filepath.Join("..", "..", file))
			p := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "inventory.db"))
			answers := inShell(t, commands, p.url)
			compared := 0
			for i, c := range commands {
				if !c.sends() {
					continue
				}
				body, status, found := cutLast(strings.TrimSpace(answers[i]), "\n")
				if c.answer == "" && (!found || status == "" || status[0] != '2') {
					t.Errorf("%s\nanswers %s", c.text, answers[i])
				}
				if c.answer != "" {
					compared++
					wantStatus, wantBody, _ := strings.Cut(c.answer, " ")
					if difference := differs(decoded(t, wantBody), decoded(t, body)); status != wantStatus || difference != "" {
						t.Errorf("%s\nanswers %s %s\nand not %s: %s", c.text, status, body, c.answer, difference)
					}
				}
			}
			if compared < 4 {
				t.Errorf("%d answers were compared", compared)
			}
		})
	}
}

// TestReadmeBeginsWithTheDemo runs the first command of README.md, with fewer buyers, and compares the form of its output with the
// document.
func TestReadmeBeginsWithTheDemo(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	text := document(t, filepath.Join("..", "..", "README.md"))
	if _, shown, found := strings.Cut(text, "go run ./cmd/inventory demo "); !found || !strings.Contains(shown[:strings.Index(shown, "```")], "make test") {
		t.Fatal("README.md does not begin with its two commands")
	}
	_, rest, _ := strings.Cut(text, "The demo ends with\n\n```\n")
	shown, _, found := strings.Cut(rest, "```")
	r := spawn(t, "demo", "--stock", "200", "--buyers", "400", "--concurrency", fewBuyers)
	if !found || r.code != 0 {
		t.Fatalf("exit status %d, %s", r.code, r.err)
	}
	figures := regexp.MustCompile(`demo-[0-9a-f-]+|[0-9]+(\.[0-9]+)?( ms| s)?| +`)
	form := func(text string) string { return figures.ReplaceAllString(strings.TrimSpace(text), "#") }
	if got := r.out[strings.Index(r.out, "Flash sale of"):]; form(got) != form(shown) {
		t.Errorf("the demo ends with\n%s\nand README.md shows\n%s", got, shown)
	}
}

// TestEveningBeginsAsItExplains runs the demos of docs/EVENING.md, the first with fewer buyers, and holds their outcome against the
// explanation: nothing is oversold, and orders larger than a segment are sold by merges.
func TestEveningBeginsAsItExplains(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	demos := regexp.MustCompile(`(?m)^go run ./cmd/inventory (demo.*)$`).FindAllStringSubmatch(document(t, filepath.Join("..", "..", "docs", "EVENING.md")), -1)
	if len(demos) != 5 || demos[4][1] != "demo --watch" {
		t.Fatalf("got %q, want four demos and the classroom", demos)
	}
	for i, demo := range demos[:4] {
		args := append(strings.Fields(demo[1]), "--json")
		if i < 3 {
			args = append(args, "--stock", "200", "--buyers", "400", "--concurrency", fewBuyers)
		}
		sold := new(sale)
		if r := spawn(t, args...); r.code != 0 || json.Unmarshal([]byte(r.out), sold) != nil {
			t.Fatalf("%q: exit status %d, %s", args, r.code, r.err)
		}
		if sold.Oversold != 0 || !sold.AuditOK {
			t.Errorf("%q: got %+v, want every unit sold once", args, sold)
		}
		if i == 3 && (sold.Accepted != 6 || sold.Merges < 1 || sold.Merges > 6) {
			t.Errorf("got %d orders by %d merges, want 6 by 1 to 6", sold.Accepted, sold.Merges)
		}
	}
}

// A typed is one command of a document, and the answer that is shown below it, "" if none is.
type typed struct{ text, answer string }

// sends reports whether the command is a request, not a variable.
func (c typed) sends() bool { return strings.HasPrefix(c.text, "curl ") }

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// commandsOf returns the requests in a document, and the variables that readers set for them.
func commandsOf(t *testing.T, file string) (commands []typed) {
	t.Helper()
	for _, block := range shellBlock.FindAllStringSubmatch(document(t, file), -1) {
		open := "" // a command that continues on the next line
		for line := range strings.Lines(block[1]) {
			line = strings.TrimRight(line, "\n")
			if answer, shown := strings.CutPrefix(line, "# "); shown && open == "" && len(commands) > 0 {
				commands[len(commands)-1].answer = answer
				continue
			}
			open += line
			if strings.Count(open, "'")%2 != 0 {
				open += "\n"
				continue
			}
			if c := (typed{text: open}); c.sends() || regexp.MustCompile(`^[a-z]+=`).MatchString(open) {
				commands = append(commands, c)
			}
			open = ""
		}
	}
	return commands
}

// inShell runs commands in one shell, and returns the output of each: for a request the body, then a line of the status.
func inShell(t *testing.T, commands []typed, url string) []string {
	t.Helper()
	const end = "-- that was all --\n"
	var script strings.Builder
	for _, c := range commands {
		text := strings.ReplaceAll(c.text, "http://127.0.0.1:8080", url)
		if c.sends() {
			text = `curl -sS -w '\n%{http_code}' ` + strings.TrimPrefix(text, "curl ")
		}
		fmt.Fprintf(&script, "%s\nprintf '\\n%s'\n", text, strings.TrimSuffix(end, "\n")+`\n`)
	}
	command := exec.CommandContext(t.Context(), "bash", "-eu")
	command.Stdin, command.Stderr = strings.NewReader(script.String()), os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	answers := strings.Split(string(output), end)
	if len(answers) != len(commands)+1 {
		t.Fatalf("%d commands have %d answers:\n%s", len(commands), len(answers)-1, output)
	}
	return answers
}

func document(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return value
}

// differs describes how a value differs from the one in the document, in which "…" is any text. A document need not show when something
// was taken.
func differs(shown, got any) string {
	switch shown := shown.(type) {
	case map[string]any:
		other, _ := got.(map[string]any)
		for name := range other {
			if _, ok := shown[name]; !ok && name != "created_at" && name != "committed_at" {
				return name + " is not shown"
			}
		}
		for name, value := range shown {
			if found, ok := other[name]; !ok || differs(value, found) != "" {
				return fmt.Sprintf("%s is %v", name, found)
			}
		}
		return ""
	case []any:
		other, _ := got.([]any)
		if len(shown) != len(other) {
			return fmt.Sprintf("%d in place of %d", len(other), len(shown))
		}
		for i := range shown {
			if difference := differs(shown[i], other[i]); difference != "" {
				return difference
			}
		}
		return ""
	default:
		if shown != got && shown != "…" {
			return fmt.Sprint(got)
		}
		return ""
	}
}

// cutLast is strings.Cut at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// TestLicencesOfAllModules runs the script that make dist and the image run. It fails if a module has no licence.
func TestLicencesOfAllModules(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	command := exec.CommandContext(t.Context(), "../../scripts/licences", "linux/amd64", "darwin/arm64")
	command.Stderr = os.Stderr
	texts, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inventory", "Go and its standard library", "github.com/jackc/pgx/v5 ", "modernc.org/sqlite "} {
		if !strings.Contains(string(texts), "\n===== "+name) && !strings.HasPrefix(string(texts), "===== "+name) {
			t.Errorf("there is no licence of %s", name)
		}
	}
}
