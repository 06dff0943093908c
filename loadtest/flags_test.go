package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// parsed are flags as a command line sets them.
func parsed(t *testing.T, args ...string) *kong.Context {
	t.Helper()
	parser, err := kong.New(&scenarios{}, options()...)
	if err != nil {
		t.Fatal(err)
	}
	context, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return context
}

func TestTheReportTellsAllFlags(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, f := range flagsOf(parsed(t, "contenders", "--case=mix;Redis", "--quick")) {
		got[f.Name] = f.Value
	}
	want := map[string]string{"case": "mix;Redis", "quick": "true", "redis-url": "", "database-url": ""}
	for name, value := range want {
		if told, there := got[name]; !there || told != value {
			t.Errorf("%s is told as %q, %v", name, told, there)
		}
	}
	for _, name := range []string{"help", "tiny", "json", "html", "markdown"} {
		if _, there := got[name]; there {
			t.Errorf("%s is told", name)
		}
	}
}

// TestNoReportTellsASecret sets every flag that takes an address or a key.
func TestNoReportTellsASecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name, c := range map[string]struct {
		args []string
		want []report.Flag
	}{
		"servers": {
			[]string{"locks", "--redis-url=redis://:" + secret + "@host:1/2", "--database-url=postgres://me:" + secret + "@host/db?password=" + secret},
			[]report.Flag{{Name: "redis-url", Value: "redis://host:1/2"}, {Name: "database-url", Value: "postgres://host/db"}},
		},
		"MongoDB": {
			[]string{"locks", "--mongodb-url=mongodb://me:" + secret + "@host:1/?authSource=" + secret},
			[]report.Flag{{Name: "mongodb-url", Value: "mongodb://host:1/"}},
		},
		"MongoDB's replicas": {
			[]string{"locks", "--mongodb-url=mongodb://me:" + secret + "@a:1,b:2/"},
			[]report.Flag{{Name: "mongodb-url", Value: "mongodb://a:1,b:2/"}},
		},
		"several": {
			[]string{"replay", "--redis-url=redis://:" + secret + "@a:1,redis://:" + secret + "@b:2/0"},
			[]report.Flag{{Name: "redis-url", Value: "redis://a:1,redis://b:2/0"}},
		},
		"no URL": {
			[]string{"locks", "--database-url=host=h password=" + secret, "--redis-url=redis://a b:" + secret + "@h"},
			[]report.Flag{{Name: "database-url", Value: notTold}, {Name: "redis-url", Value: notTold}},
		},
		"service": {
			[]string{
				"replay", "--url=https://me:" + secret + "@a/base,http://b:80", "--database-url=sqlite:/tmp/x.db", "--api-key=" + secret,
			},
			[]report.Flag{
				{Name: "url", Value: "https://a/base,http://b:80"}, {Name: "database-url", Value: "sqlite:/tmp/x.db"}, {Name: "api-key", Value: notTold},
			},
		},
	} {
		all := flagsOf(parsed(t, c.args...))
		for _, want := range c.want {
			if !slices.Contains(all, want) {
				t.Errorf("%s: no %+v in %+v", name, want, all)
			}
		}
		for _, f := range all {
			if strings.Contains(f.Value, secret) {
				t.Errorf("%s: a secret is told: %+v", name, f)
			}
		}
	}
}

// TestKeysAreMarked checks every flag: one that takes a key or a password has the tag that hides it.
func TestKeysAreMarked(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&scenarios{}, options()...)
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, leaf := range parser.Model.Leaves(false) {
		for _, flag := range leaf.Flags {
			words := strings.Split(flag.Name, "-")
			isSecret := slices.ContainsFunc(words, func(word string) bool { return slices.Contains([]string{"key", "token", "password", "secret"}, word) })
			if isSecret != flag.Tag.Has("secret") {
				t.Errorf("%s --%s: marked as a secret: %v", leaf.Name, flag.Name, flag.Tag.Has("secret"))
			}
			if isSecret {
				marked++
			}
		}
	}
	if marked == 0 {
		t.Error("no flag is a secret: this looks at nothing")
	}
}

// TestAKeyOfTheEnvironmentIsNotTold runs a scenario to its report.
func TestAKeyOfTheEnvironmentIsNotTold(t *testing.T) { // not parallel: it sets a variable
	t.Setenv("INVENTORY_API_KEY", "hunter2")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"replay", "--orders", writeFile(t, handMade), "--json=-"}, cli.Streams{Out: &out, Err: &errs})
	document, err := report.Read(bytes.NewReader(out.Bytes()))
	if code != 0 || err != nil {
		t.Fatalf("%d, %v: %s", code, err, &errs)
	}
	if strings.Contains(out.String(), "hunter2") || !slices.Contains(document.Flags, report.Flag{Name: "api-key", Value: notTold}) {
		t.Errorf("%+v", document.Flags)
	}
	if len(document.Flags) < 10 || document.Environment.SQLite == "" || document.Environment.Redis != "embedded" || document.Started.IsZero() {
		t.Errorf("%+v, %+v", document.Flags, document.Environment)
	}
}
