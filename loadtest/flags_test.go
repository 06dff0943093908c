package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
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
	for _, f := range flagsOf(parsed(t, "contenders", "--case=mix;over HTTP", "--quick")) {
		got[f.Name] = f.Value
	}
	want := map[string]string{"case": "mix;over HTTP", "lines": "3,10,20", "quick": "true", "redis-url": "", "database-url": ""}
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

// TestNoReportTellsASecret sets every flag that takes an address or a key: the report says that it was given.
func TestNoReportTellsASecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, args := range [][]string{
		{"locks", "--redis-url=redis://:" + secret + "@h/2", "--database-url=host=h password=" + secret, "--mongodb-url=mongodb://me:" + secret + "@a,b/"},
		{"replay", "--redis-url=redis://:" + secret + "@a", "--database-url=postgres://h/db?password=" + secret},
		{"flash-sale", "--url=https://me:" + secret + "@a/base,http://b", "--database-url=sqlite:" + secret, "--api-key=" + secret},
	} {
		told := 0
		for _, f := range flagsOf(parsed(t, args...)) {
			if strings.Contains(f.Value, secret) {
				t.Errorf("%s: a secret is told: %+v", args[0], f)
			}
			if f.Value == notTold {
				told++
			}
		}
		if told != len(args)-1 {
			t.Errorf("%q: %d flags are told to have been given", args, told)
		}
	}
}

// TestKeysAreMarked checks every flag: one that takes a key, or an address that may hold a password, has the tag that hides it.
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
			isSecret := slices.ContainsFunc(words, func(word string) bool {
				return slices.Contains([]string{"key", "token", "password", "secret", "url"}, word)
			})
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

// TestWrongFlagIsReportedInOneLine gives each scenario flags that cannot work, and addresses where nobody answers.
func TestWrongFlagIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	orders := writeFile(t, handMade)
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close) // after the parallel tests below
	service, postgres := "--url=http://me:secret@"+nobody, "--database-url=postgres://me:secret@"+nobody+"/db?sslmode=disable"
	wrong := map[string][]string{
		"replays":                        {"replays"},
		"--order":                        {"replay", "--order=x"},
		"--stock-factor: expected":       {"replay", "--stock-factor=much"},
		"--stock-factor must be 0":       {"replay", "--stock-factor=NaN"},
		"--concurrency":                  {"replay", "--concurrency=0"},
		"--log-level":                    {"replay", "--log-level=loud"},
		"--url needs --database-url":     {"replay", service},
		"--url and --redis-url":          {"replay", service, postgres, "--redis-url=redis://:secret@h"},
		"--private-servers excludes":     {"replay", service, "--private-servers"},
		"--url, number 2":                {"replay", "--url=http://h,me:secret@h", postgres},
		"--url, number 1":                {"replay", "--url=http://me:secret@h:%zz", postgres},
		"--stock must be":                {"flash-sale", "--stock=0"},
		"--quantity: must be":            {"flash-sale", "--quantity=5-1"},
		"--spike-rate must be":           {"flash-sale", "--spike-rate=NaN"},
		"--storm-for must be":            {"flash-sale", "--storm-for=-1s"},
		"--arrivals":                     {"flash-sale", "--arrivals=soon"},
		"--length must be":               {"chaos", "--length=1s"},
		"--lock":                         {"chaos", "--lock=redlock"},
		"--segments":                     {"explain", "--segments=1,1"},
		"--processes":                    {"explain", "--processes=0,3"},
		"--for":                          {"explain", "--for=10ms"},
		`there is no case "one"`:         {"contenders", "--case=one;two"},
		`--case: there is no case "one"`: {"locks", "--case=one;two"},
		`there is no case "one caller"`:  {"locks", "--break", "--case=one caller"},
	}
	failing := map[string][]string{
		"run from the root of the repository, or name a file with --orders": {"replay"},
		"none.csv":                              {"replay", "--orders=none.csv"},
		"--json: open none/there.json":          {"replay", "--orders=" + shopFile, "--json=none/there.json"},
		"start the service: reach Redis":        {"replay", "--orders", orders, "--redis-url=redis://me:secret@" + nobody},
		"start the service: redis URL":          {"replay", "--orders", orders, "--redis-url=http://me:secret@" + nobody},
		"database URL":                          {"replay", "--orders", orders, "--database-url=mysql://me:secret@" + nobody},
		"that is no answer of the service":      {"replay", "--orders", orders, "--url=" + stranger.URL, postgres},
		"at most 5000000 can be planned":        {"flash-sale", "--spike-rate=90000", "--spike-for=1h"},
		"no request at all":                     {"flash-sale", "--trickle-for=0s", "--spike-for=0s", "--storm-for=0s", "--cool-down-for=0s"},
		"start the service: reach Post":         {"flash-sale", postgres},
		"reach the service at http://" + nobody: {"flash-sale", service, postgres},
		"no fault":                              {"chaos", "--fault=rain"},
		"reach PostgreSQL":                      {"contenders", "--redis-url=redis://" + nobody, postgres},
		"redis URL: must be":                    {"locks", "--case=one caller", "--redis-url=http://me:secret@h", "--database-url=postgres://h"},
		"MongoDB URL: must be":                  {"locks", "--case=one caller", "--mongodb-url=http://me:secret@h"},
	}
	for code, calls := range map[int]map[string][]string{2: wrong, 1: failing} {
		for says, args := range calls {
			t.Run(says, func(t *testing.T) {
				t.Parallel()
				runWith(t.Context(), args...).wantOneLine(t, code, says)
			})
		}
	}
}
