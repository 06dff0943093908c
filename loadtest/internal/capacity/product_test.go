package capacity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// constant is the number that a package of the product gives to a name.
func constant(t *testing.T, pattern, name string) (value int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "internal", "stock", pattern, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || spec.Names[0].Name != name || len(spec.Values) != 1 {
				return true
			}
			if number, is := spec.Values[0].(*ast.BasicLit); is {
				found++
				if value, err = strconv.Atoi(number.Value); err != nil {
					t.Errorf("%s is %s", name, number.Value)
				}
			}
			return true
		})
	}
	if found != 1 {
		t.Fatalf("package %s gives %d numbers to %s", pattern, found, name)
	}
	return value
}

// TestWritersAreThoseOfTheProduct: a plan for writers other than those of the service is wrong.
func TestWritersAreThoseOfTheProduct(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		here int
	}{
		"batchLimit": {"selling", batchLimit}, "batchParts": {"selling", batchParts}, "defaultWorkers": {"selling", defaultWorkers},
		"mostShared": {"postgres", mostShared}, "secondWriter": {"postgres", secondWriter},
		"mostSharedLines": {"postgres", mostSharedLines}, "defaultConns": {"postgres", defaultConns},
	} {
		if there := constant(t, c.in, name); there != c.here {
			t.Errorf("%s is %d in package %s, and %d here", name, there, c.in, c.here)
		}
	}
}
