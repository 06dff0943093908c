package busytest_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the lists of helpers that TestHelpersAreListed compares")

// helperList is the file of a package that lists the helpers of its tests.
const helperList = "helpers_test.go"

// fewHelpers is how many helpers a reader finds without a list.
const fewHelpers = 4

// A helper is a function or type of tests that several files use.
type helper struct{ name, file, does string }

// TestHelpersAreListed checks that each package with many helpers lists them in one file: what they are for, and where.
func TestHelpersAreListed(t *testing.T) {
	t.Parallel()
	for folder, files := range testFiles(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(root, folder, helperList)
			want := listOf(files)
			if *write && want != nil {
				if err := os.WriteFile(path, want, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s/%s does not list the helpers, run make list-helpers", folder, helperList)
			}
		})
	}
}

// listOf returns the list of the helpers of one folder; nil if there are few.
func listOf(files map[string]*ast.File) []byte {
	shared := sharedHelpers(files)
	if len(shared) <= fewHelpers {
		return nil
	}
	list := &bytes.Buffer{}
	fmt.Fprintf(list, "package %s\n\n// The helpers that several files of these tests use. make list-helpers writes this file.\n", packageOf(files))
	file := ""
	for _, h := range shared {
		if h.file != file {
			file = h.file
			fmt.Fprintf(list, "//\n// %s\n", file)
		}
		fmt.Fprintf(list, "//   - %s\n", strings.TrimSuffix(h.name+": "+h.does, ": "))
	}
	return list.Bytes()
}

// packageOf returns the package that most files belong to: tests inside and outside of a package share a folder.
func packageOf(files map[string]*ast.File) string {
	count := make(map[string]int)
	for name, file := range files {
		if name != helperList {
			count[file.Name.Name]++
		}
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(count)), func(a, b string) int { return count[a] - count[b] })
}

// sharedHelpers returns the functions and types that other files than their own use, by file and name.
func sharedHelpers(files map[string]*ast.File) (shared []helper) {
	used := make(map[string]map[string]bool) // files, by name
	for file, parsed := range files {
		ast.Inspect(parsed, func(n ast.Node) bool {
			if name, is := n.(*ast.Ident); is {
				if used[name.Name] == nil {
					used[name.Name] = make(map[string]bool)
				}
				used[name.Name][file] = true
			}
			return true
		})
	}
	for file, parsed := range files {
		for name, comment := range declared(parsed) {
			if elsewhere := len(used[name]) - 1; elsewhere > 0 {
				does := strings.TrimSuffix(strings.TrimPrefix(new(doc.Package).Synopsis(comment), name+" "), ".")
				shared = append(shared, helper{name, file, does})
			}
		}
	}
	slices.SortFunc(shared, func(a, b helper) int {
		return strings.Compare(a.file+"\x00"+a.name, b.file+"\x00"+b.name)
	})
	return shared
}

// declared returns the comments of the functions and types of a file that are no tests, by name.
func declared(file *ast.File) map[string]string {
	comments := make(map[string]string)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && !isTest(d.Name.Name) {
				comments[d.Name.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, is := spec.(*ast.TypeSpec); is {
					comments[s.Name.Name] = d.Doc.Text()
				}
			}
		}
	}
	return comments
}

// isTest reports whether go test calls a function by its name.
func isTest(name string) bool {
	return name == "init" || slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}
