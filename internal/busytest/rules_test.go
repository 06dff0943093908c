package busytest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// TestRules checks all tests of the repository against the rules that a parser can see. It has a subtest for each folder.
func TestRules(t *testing.T) {
	t.Parallel()
	for folder, files := range testFiles(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			for _, problem := range check(files) {
				t.Error(problem)
			}
		})
	}
}

// TestRulesFindWhatTheyForbid checks the checker: each forbidden form is found, and each allowed one is not.
func TestRulesFindWhatTheyForbid(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`type s struct { *testing.T }`:                                                             "embeds *testing.T",
		`type s struct { testing.TB }`:                                                             "embeds testing.TB",
		`type s struct { t *testing.T }`:                                                           "",
		`func f() { var b bytes.Buffer; slog.New(slog.NewTextHandler(&b, nil)) }`:                  "unguarded buffer b",
		`func f() { b := &strings.Builder{}; slog.New(slog.NewJSONHandler(b, nil)) }`:              "unguarded buffer b",
		`type s struct { told strings.Builder }; func f(x *s, c *exec.Cmd) { c.Stderr = &x.told }`: "unguarded buffer told",
		`func f() { if time.Since(a) > b { } }`:                                                    "upper bound",
		`func f() { if took := time.Since(a); took > b { } }`:                                      "upper bound",
		`func f() { if b <= x.Sub(a) { } }`:                                                        "upper bound",
		`func f() { if took := time.Since(a); took < b { } }`:                                      "",
		`func f() { for time.Since(a) < b { } }`:                                                   "upper bound",
		`func f() { if time.Now().After(b) { } }`:                                                  "upper bound",
		`func f() { for end := b; time.Now().Before(end); { } }`:                                   "upper bound",
		`func f() { busytest.Virtual(t, func(t *testing.T) { if time.Since(a) > b { } }) }`:        "",
		`func f() { synctest.Test(t, func(t *testing.T) { }) }`:                                    "use busytest.Virtual",
		"// f runs in virtual time.\nfunc f() { if time.Since(a) > b { } }":                        "",
		"// f measures beside a control.\nfunc f() { if time.Since(a) > b { } }":                   "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a\n"+code, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(check(map[string]*ast.File{"a_test.go": file}), "\n")
		if (want == "") != (problems == "") || !strings.Contains(problems, want) {
			t.Errorf("%s\ngot  %q\nwant %q", code, problems, want)
		}
	}
}

// testFiles parses all files of tests, by folder and path.
func testFiles(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	folders, positions := make(map[string]map[string]*ast.File), token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(positions, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if folders[folder] == nil {
			folders[folder] = make(map[string]*ast.File)
		}
		folders[folder][filepath.Base(path)] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// check returns what is wrong with the tests of one folder.
func check(files map[string]*ast.File) (problems []string) {
	buffers := make(map[string]bool)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool { noteBuffers(n, buffers); return true })
	}
	for name, file := range files {
		tell := func(what string, args ...any) { problems = append(problems, name+": "+fmt.Sprintf(what, args...)) }
		ast.Inspect(file, func(n ast.Node) bool {
			checkEmbedding(n, tell)
			checkBuffers(n, buffers, tell)
			checkVirtual(n, tell)
			return true
		})
		for _, declared := range file.Decls {
			if f, is := declared.(*ast.FuncDecl); is && f.Body != nil && !timeIsNotReal(f) {
				checkBounds(f, tell)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// checkEmbedding finds structs that embed the test: a reader of s.Fatal has to look up what s is.
func checkEmbedding(n ast.Node, tell func(string, ...any)) {
	fields, is := n.(*ast.StructType)
	if !is {
		return
	}
	for _, field := range fields.Fields.List {
		if name := typeName(field.Type); len(field.Names) == 0 && (name == "*testing.T" || name == "testing.TB" || name == "*testing.B") {
			tell("a struct embeds %s: give it a field t", name)
		}
	}
}

// noteBuffers notes the names of variables and fields that are buffers without a mutex.
func noteBuffers(n ast.Node, buffers map[string]bool) {
	isBuffer := func(e ast.Expr) bool {
		name := strings.TrimPrefix(typeName(e), "*")
		return name == "bytes.Buffer" || name == "strings.Builder"
	}
	switch n := n.(type) {
	case *ast.ValueSpec:
		for _, name := range n.Names {
			if n.Type != nil && isBuffer(n.Type) {
				buffers[name.Name] = true
			}
		}
	case *ast.Field:
		for _, name := range n.Names {
			if isBuffer(n.Type) {
				buffers[name.Name] = true
			}
		}
	case *ast.AssignStmt:
		for i, value := range n.Rhs {
			if address, is := value.(*ast.UnaryExpr); is {
				value = address.X
			}
			made, is := value.(*ast.CompositeLit)
			if name, named := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); is && named && made.Type != nil && isBuffer(made.Type) {
				buffers[name.Name] = true
			}
		}
	}
}

// checkBuffers finds such buffers where a logger or a process writes.
func checkBuffers(n ast.Node, buffers map[string]bool, tell func(string, ...any)) {
	var to ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		if name := typeName(n.Fun); (name == "slog.NewTextHandler" || name == "slog.NewJSONHandler") && len(n.Args) > 0 {
			to = n.Args[0]
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if s, is := left.(*ast.SelectorExpr); is && (s.Sel.Name == "Stdout" || s.Sel.Name == "Stderr") && i < len(n.Rhs) {
				to = n.Rhs[i]
			}
		}
	}
	if to == nil {
		return
	}
	ast.Inspect(to, func(n ast.Node) bool {
		if name, is := n.(*ast.Ident); is && buffers[name.Name] {
			tell("a logger or a process writes to the unguarded buffer %s: use busytest.Log", name.Name)
		}
		return true
	})
}

// checkVirtual finds tests in virtual time that may confuse the race detector.
func checkVirtual(n ast.Node, tell func(string, ...any)) {
	if call, is := n.(*ast.CallExpr); is && typeName(call.Fun) == "synctest.Test" {
		tell("synctest.Test leaves several processors: use busytest.Virtual")
	}
}

// timeIsNotReal reports whether a function runs in virtual time or says that it measures a control.
func timeIsNotReal(f *ast.FuncDecl) (is bool) {
	if text := f.Doc.Text(); strings.Contains(text, "virtual time") || strings.Contains(text, "control") {
		return true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, called := n.(*ast.CallExpr); called {
			switch typeName(call.Fun) {
			case "busytest.Virtual", "virtual", "bubble", "scripted", "still":
				is = true
			}
		}
		return !is
	})
	return is
}

// checkBounds finds comparisons of real time with an upper bound.
func checkBounds(f *ast.FuncDecl, tell func(string, ...any)) {
	measured := make(map[string]bool)
	ast.Inspect(f, func(n ast.Node) bool {
		if assigned, is := n.(*ast.AssignStmt); is && len(assigned.Lhs) == len(assigned.Rhs) {
			for i, value := range assigned.Rhs {
				if name, named := assigned.Lhs[i].(*ast.Ident); named && isMeasured(value, nil) {
					measured[name.Name] = true
				}
			}
		}
		return true
	})
	bound := func() { tell("%s compares real time with an upper bound", f.Name.Name) }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			more, less := n.Op == token.GTR || n.Op == token.GEQ, n.Op == token.LSS || n.Op == token.LEQ
			if more && isMeasured(n.X, measured) || less && isMeasured(n.Y, measured) {
				bound()
			}
		case *ast.ForStmt:
			if n.Cond != nil && waits(n.Cond) {
				bound()
			}
		case *ast.CallExpr:
			if typeName(n.Fun) == "time.Now().After" {
				bound()
			}
		}
		return true
	})
}

// isMeasured reports whether an expression contains a measured duration.
func isMeasured(e ast.Expr, measured map[string]bool) (is bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			s, selects := n.Fun.(*ast.SelectorExpr)
			is = is || typeName(n.Fun) == "time.Since" || selects && s.Sel.Name == "Sub" && len(n.Args) == 1
		case *ast.Ident:
			is = is || measured[n.Name]
		case *ast.FuncLit:
			return false
		}
		return !is
	})
	return is
}

// waits reports whether the condition of a loop contains the real time.
func waits(e ast.Expr) (is bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, called := n.(*ast.CallExpr); called {
			name := typeName(call.Fun)
			is = is || name == "time.Since" || strings.HasPrefix(name, "time.Now()")
		}
		return !is
	})
	return is
}

// typeName writes a name such as *testing.T, time.Since or time.Now().After as in the source.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return typeName(e.Fun) + "()"
	default:
		return ""
	}
}
