package report

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSchemaIsDescribed compares docs/lab/json.md with the JSON: each object has a table there, with each of its
// members in their order, and nothing else.
func TestSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/lab/json.md")
	if err != nil {
		t.Fatal(err)
	}
	section := string(text)
	if !strings.Contains(section, "`"+Schema+"`") {
		t.Errorf("the schema %s is not named", Schema)
	}
	for _, object := range objects(reflect.TypeFor[Document]()) {
		name := object.Name()
		if name == "Document" {
			name = "The object"
		}
		_, table, found := strings.Cut(section, "\n"+name+":\n\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var described []string
		for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
			described = append(described, row[1])
		}
		if want := members(object); !found || !slices.Equal(described, want) {
			t.Errorf("%s: described are %q, and there are %q", name, described, want)
		}
	}
}

// members are the names of an object's members in JSON.
func members(object reflect.Type) (names []string) {
	for i := range object.NumField() {
		name, options, _ := strings.Cut(object.Field(i).Tag.Get("json"), ",")
		if name != "-" && options != "embed" {
			names = append(names, name)
		}
	}
	return names
}

// objects are a type and all it is made of that JSON has objects for, as far as they are of this package.
func objects(of reflect.Type) (all []reflect.Type) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice}, of.Kind()) {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[Document]().PkgPath() {
		return nil
	}
	all = append(all, of)
	for i := range of.NumField() {
		if of.Field(i).Tag.Get("json") == "-" {
			continue
		}
		for _, object := range objects(of.Field(i).Type) {
			if !slices.Contains(all, object) {
				all = append(all, object)
			}
		}
	}
	return all
}
