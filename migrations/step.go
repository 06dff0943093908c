package migrations

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/golang-migrate/migrate/v4/source"
)

// Step is one migration and whether the database has it.
type Step struct {
	Version uint
	Name    string
	Applied bool
	Loses   string // what is lost when it is undone

	up, down change
}

// kind is what a step does. The package comment has the rule.
type kind string

const (
	bases    kind = "base"     // makes the schema of 0.1.0 in an empty database
	adds     kind = "adds"     // what older processes do not use
	fills    kind = "fills"    // columns, a few rows at a time
	indexes  kind = "indexes"  // rows, while they are written
	tightens kind = "tightens" // what all rows meet by now
	undoes   kind = "loses"    // undoes a step
)

// change is one file: what a step does, or what undoes it.
type change struct {
	kind       kind
	what       string   // the first line's text
	statements []string // "" is none
}

// list returns the steps of a dialect, ascending, because their names are zero-padded and a folder is read sorted.
func (d dialect) list() (list []Step, err error) {
	files, err := fs.Glob(steps, d.folder+"/*.up.sql")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	for _, file := range files {
		named, err := source.Parse(path.Base(file))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %s: %w", file, err)
		}
		step := Step{Version: named.Version, Name: named.Identifier}
		if step.up, err = d.read(file); err == nil {
			step.down, err = d.read(strings.TrimSuffix(file, ".up.sql") + ".down.sql")
		}
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		step.Loses = step.down.what
		list = append(list, step)
	}
	return list, nil
}

func (d dialect) read(file string) (change, error) {
	text, err := steps.ReadFile(file)
	if err != nil {
		return change{}, err
	}
	c, err := parse(string(text))
	if err == nil && d.online {
		err = c.check()
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// parse reads a file. Its first line is a comment with the kind, a colon, and what it does or loses.
func parse(text string) (c change, err error) {
	first, _, _ := strings.Cut(text, "\n")
	name, what, _ := strings.Cut(strings.TrimPrefix(first, "-- "), ": ")
	c = change{kind: kind(name), what: what}
	switch c.kind {
	case bases, adds, fills, indexes, tightens, undoes:
	default:
		return c, fmt.Errorf("the first line must say what the step does, such as \"-- adds: …\", and is %q", first)
	}
	var statement strings.Builder
	quoted := false // within the body of a function
	for line := range strings.Lines(text) {
		if comment := strings.HasPrefix(line, "--"); comment && !quoted {
			continue
		}
		statement.WriteString(line)
		quoted = quoted != (strings.Count(line, "$$")%2 == 1)
		if !quoted && strings.HasSuffix(strings.TrimSpace(line), ";") {
			c.statements = append(c.statements, strings.TrimSpace(statement.String()))
			statement.Reset()
		}
	}
	if rest := strings.TrimSpace(statement.String()); rest != "" {
		c.statements = append(c.statements, rest+";")
	}
	return c, nil
}

// allowed are the forms that the statements of a kind may have. A form that makes PostgreSQL read or write rows while it locks their table
// against orders has none of these forms.
func allowed(k kind) []*regexp.Regexp {
	forms := map[kind][]string{
		adds: {
			`CREATE TABLE IF NOT EXISTS [^;]+`,
			`CREATE OR REPLACE (FUNCTION|TRIGGER) [\s\S]+`,
			`ALTER TABLE \w+ ADD COLUMN IF NOT EXISTS \w+ \w+( COLLATE "C")?( NOT NULL DEFAULT ('[^']*'|-?\d+|false|true))?`,
			`ALTER TABLE \w+ ADD CONSTRAINT [^;]+ NOT VALID`,
			`ALTER TABLE \w+ ALTER COLUMN \w+ (SET DEFAULT [^;]+|DROP NOT NULL)`,
		},
		fills:    {`WITH [^;]+ > (current_setting\('inventory\.after'\)|after\.\w+)\s+ORDER BY \w+ LIMIT current_setting\('inventory\.batch'\)::bigint\b[^;]+`},
		indexes:  {`CREATE (UNIQUE )?INDEX CONCURRENTLY \w+ ON [^;]+`},
		tightens: {`ALTER TABLE \w+ VALIDATE CONSTRAINT \w+`},
	}
	var all []*regexp.Regexp
	for _, form := range forms[k] {
		all = append(all, regexp.MustCompile(`^`+form+`;$`))
	}
	return all
}

// check returns an error unless orders can be accepted while PostgreSQL carries the change out.
func (c change) check() error {
	if c.kind == bases || c.kind == undoes {
		return nil
	}
	if (c.kind == fills || c.kind == indexes) && len(c.statements) != 1 {
		return fmt.Errorf("a step that %s has one statement, not %d", c.kind, len(c.statements))
	}
	forms := allowed(c.kind)
statements:
	for _, statement := range c.statements {
		for _, form := range forms {
			if form.MatchString(statement) {
				continue statements
			}
		}
		return fmt.Errorf("a step that %s must not have a statement such as %s", c.kind, statement)
	}
	return nil
}

// index is the name of the index that a change builds.
func (c change) index() string {
	_, rest, _ := strings.Cut(c.statements[0], "CONCURRENTLY ")
	name, _, _ := strings.Cut(rest, " ")
	return name
}
