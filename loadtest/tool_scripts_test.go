package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// toolScript is the script for a program that others have written.
const toolScript = "k6/flash-sale.js"

var (
	namedRoute = regexp.MustCompile("/v1/[^\\s'\"`?,]+")
	// A code with its status, as its table has it.
	namedCode = regexp.MustCompile(`(?m)^\s+([a-z_]+)\s*[:=]\s*([1-5]\d\d),$`)
	parameter = regexp.MustCompile(`\{\w+\}`)
)

// TestTheToolScriptNamesWhatThereIs holds the routes, codes and statuses that the script names against the document: what it
// does when it runs is tested with the program (make test-load-tools).
func TestTheToolScriptNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("../internal/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var routes []*regexp.Regexp
	for path := range document.Paths.Map() {
		routes = append(routes, regexp.MustCompile("^"+parameter.ReplaceAllString(path, `[^/]+`)+"$"))
	}
	codes := map[any]bool{}
	for _, code := range document.Components.Schemas["Code"].Value.Enum {
		codes[code] = true
	}
	deduct := document.Paths.Value("/v1/skus/{sku}/deductions").Post
	text, err := os.ReadFile(toolScript)
	if err != nil {
		t.Fatal(err)
	}
	named := namedRoute.FindAllString(string(text), -1)
	for _, route := range named {
		if !slices.ContainsFunc(routes, func(r *regexp.Regexp) bool { return r.MatchString(route) }) {
			t.Errorf("%s names the route %s, which is not in the document", toolScript, route)
		}
	}
	refusals := namedCode.FindAllStringSubmatch(string(text), -1)
	for _, refusal := range refusals {
		if status, err := strconv.Atoi(refusal[2]); err != nil || !codes[refusal[1]] || deduct.Responses.Status(status) == nil {
			t.Errorf("%s names %s with %s, which no order is answered with", toolScript, refusal[1], refusal[2])
		}
	}
	if len(named) < 2 || len(refusals) < 5 {
		t.Errorf("%s names only the routes %q and the refusals %q", toolScript, named, refusals)
	}
}
