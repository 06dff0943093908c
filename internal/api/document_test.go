package api_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Parts of a pattern that libraries read differently: a property of Unicode, which JavaScript knows with the u flag only; a
// character above U+FFFF, which is two without it; an end of line, which generators write as it is.
var readDifferently = regexp.MustCompile(`\\[pP]|[^\x{0}-\x{FFFF}]|\\u(000A|000D|2028|2029)|\\[nrsSwWbB]`)

// TestThePatternsOfTheDocumentAreReadAlike: those under not refine, and generators leave them out. make test-openapi tries all
// of them.
func TestThePatternsOfTheDocumentAreReadAlike(t *testing.T) {
	t.Parallel()
	var document any
	text, err := os.ReadFile("openapi.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	patterns := 0
	var walk func(where string, node any)
	walk = func(where string, node any) {
		switch node := node.(type) {
		case []any:
			for _, item := range node {
				walk(where, item)
			}
		case map[string]any:
			for key, value := range node {
				if pattern, ok := value.(string); ok && key == "pattern" {
					patterns++
					if found := readDifferently.FindString(pattern); found != "" {
						t.Errorf("%s: %q in the pattern is not read alike everywhere", where, found)
					}
				}
				if _, typed := node["type"].(string); key == "nullable" && !typed {
					t.Errorf("%s is nullable and has no type", where)
				}
				if key != "not" {
					walk(where+"/"+key, value)
				}
			}
		}
	}
	walk("", document)
	if patterns < 10 {
		t.Fatalf("the document has only %d patterns", patterns)
	}
}

// TestOperationsOfTheDocumentAreDescribed: linters and generators demand it.
func TestOperationsOfTheDocumentAreDescribed(t *testing.T) {
	t.Parallel()
	for path, item := range document(t).Paths.Map() {
		for method, o := range item.Operations() {
			if o.OperationID == "" || o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || strings.HasSuffix(o.Summary, ".") {
				t.Errorf("%s %s lacks an id, one tag, a description, or a summary without a full stop: %q, tags %q, %q", method, path, o.OperationID, o.Tags, o.Summary)
			}
		}
	}
}
