package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"
)

// TestGoOfTheClientsPageNamesWhatIsGenerated: make test-clients compiles the page's programs, but needs their tools. This needs none.
func TestGoOfTheClientsPageNamesWhatIsGenerated(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatal("the page has no Go")
	}
	files := token.NewFileSet()
	program, err := parser.ParseFile(files, "checkout.go", text[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	generated, err := parser.ParseFile(files, "client/client.gen.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	for _, d := range generated.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				there[n.Name.Name] = true
			case *ast.ValueSpec:
				there[n.Names[0].Name] = true
			case *ast.FuncDecl:
				there[n.Name.Name] = true
			}
			return true
		})
	}
	ast.Inspect(program, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is && x.Name == "inventory" && !there[s.Sel.Name] {
				t.Errorf("inventory.%s is not generated", s.Sel.Name)
			}
		}
		return true
	})
}
