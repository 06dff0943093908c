package sqlite

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"inventory/internal/stock/tables"
)

// Statements of package tables are in PostgreSQL's SQL. These are SQLite's words for PostgreSQL's. SQLite has one writer, and so
// no locks of rows; times are numbers, and the instant of a decision is always given; texts are compared by their bytes anyway.
var words = []struct {
	there *regexp.Regexp
	here  string
}{
	{regexp.MustCompile(`::\w+(\[\])?`), ``},
	{regexp.MustCompile(`\s+(FOR UPDATE( SKIP LOCKED)?|COLLATE "C"|OFFSET 0)`), ``},
	{regexp.MustCompile(`\bclock_timestamp\(\)`), `NULL`},
	{regexp.MustCompile(`\binterval '1 microsecond'`), `1`},
	{regexp.MustCompile(`\bgreatest\(`), `max(`},
	// Rows are found by their key, not by their ctid.
	{
		regexp.MustCompile(`ctid = ANY \(ARRAY\(\s+SELECT r\.ctid FROM unnest\((.*)\) AS asked \(id\)\s+` +
			`CROSS JOIN LATERAL \(SELECT ctid FROM \w+ WHERE (.*?)= asked\.id(.*)\) AS r\)\)`),
		`${2}IN (SELECT value FROM json_each(${1}))${3}`,
	},
	{
		regexp.MustCompile(`(\w+)\.ctid = \(SELECT ctid FROM \w+ WHERE sku_id = \$1 AND (\w+) = ([\w.]+)\)`),
		`${1}.sku_id = $$1 AND ${1}.${2} IN (SELECT value FROM json_each($$2)) AND ${1}.${2} = ${3}`,
	},
	// The tables of a CROSS JOIN are read in their order.
	{
		regexp.MustCompile(`CROSS JOIN LATERAL \(SELECT \* FROM (\w+) WHERE (.*?)\) AS (\w+)`),
		`CROSS JOIN ${1} AS ${3} ON ${2}`,
	},
}

// rowsOf matches rows that are made from arrays, one for each column. Arrays are JSON here. If there are several, a limit makes
// SQLite build the rows once, and find them by an index that it creates.
var rowsOf = regexp.MustCompile(`unnest\((\$[^()]*)\)( WITH ORDINALITY)?\s+AS (\w+) \(([^)]*)\)`)

// dialect returns a statement in SQLite's SQL.
func dialect(statement string) string {
	for _, word := range words {
		statement = word.there.ReplaceAllString(statement, word.here)
	}
	return rowsOf.ReplaceAllStringFunc(statement, func(found string) string {
		parts := rowsOf.FindStringSubmatch(found)
		arrays, names := strings.Split(parts[1], ", "), strings.Split(parts[4], ", ")
		columns, once := []string{"value AS " + names[0]}, ""
		for i, array := range arrays[1:] {
			columns = append(columns, fmt.Sprintf("%s ->> key AS %s", array, names[i+1]))
		}
		if len(arrays) > 1 {
			once = " LIMIT -1"
		}
		if parts[2] != "" {
			columns = append(columns, "key + 1 AS "+names[len(arrays)])
		}
		return fmt.Sprintf("(SELECT %s FROM json_each(%s)%s) AS %s", strings.Join(columns, ", "), arrays[0], once, parts[3])
	})
}

// arguments converts the arguments of statements of package tables to what SQLite knows.
func arguments(args []any) ([]any, error) {
	for i, a := range args {
		switch a := a.(type) {
		case nil, string, int, int64, *int, []byte:
		case time.Time:
			args[i] = micros(a)
		case tables.Instant:
			args[i] = microsOrNull(time.Time(a))
		case []tables.Instant:
			instants := make([]any, len(a))
			for n, t := range a {
				instants[n] = microsOrNull(time.Time(t))
			}
			text, _ := json.Marshal(instants)
			args[i] = string(text)
		case tables.At:
			args[i] = micros(now(time.Time(a)))
		default:
			switch v := reflect.ValueOf(a); {
			case v.Kind() != reflect.Slice:
			case v.IsNil():
				args[i] = nil
			default:
				text, err := json.Marshal(a)
				if err != nil {
					return nil, err
				}
				args[i] = string(text)
			}
		}
	}
	return args, nil
}
