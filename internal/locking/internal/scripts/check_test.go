package scripts

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	command = regexp.MustCompile(`\bp?call\('([A-Z]+)'((?:[^()]|\([^()]*\))*)\)`)
	option  = regexp.MustCompile(`'([A-Z]{2,})'`)
	tried   = regexp.MustCompile(`\btry\('( [A-Z ]+)?', '([A-Z]+)'`)
	each    = regexp.MustCompile(`ipairs\(\{([^}]*)\}\) do try\('', name`)
)

// commandsOf returns the commands that a script calls, each with its options.
func commandsOf(source string) (forms []string) {
	for _, call := range command.FindAllStringSubmatch(source, -1) {
		form := call[1]
		for _, word := range option.FindAllStringSubmatch(call[2], -1) {
			form += " " + word[1]
		}
		forms = append(forms, form)
	}
	return forms
}

// CheckServer is content only with a server on which all scripts run: check.lua calls each command in each form in which they do.
func TestCheckCallsWhatTheScriptsCall(t *testing.T) {
	check := read("check.lua")
	var covered []string
	for _, call := range tried.FindAllStringSubmatch(check, -1) {
		covered = append(covered, call[2]+call[1])
	}
	for _, loop := range each.FindAllStringSubmatch(check, -1) {
		for _, name := range option.FindAllStringSubmatch(loop[1], -1) {
			covered = append(covered, name[1])
		}
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	called := 0
	for _, entry := range entries {
		if entry.Name() == "check.lua" {
			continue
		}
		for _, form := range commandsOf(read(entry.Name())) {
			called++
			if !slices.Contains(covered, form) {
				t.Errorf("%s calls %s, and check.lua does not", entry.Name(), form)
			}
			if strings.HasPrefix(form, "PEXPIRE ") || strings.HasPrefix(form, "EXPIRE ") {
				t.Errorf("%s calls %s, which servers before Redis 7 do not know", entry.Name(), form)
			}
		}
	}
	if called < 60 {
		t.Errorf("%d calls are found in all scripts", called)
	}
}
