package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"inventory/internal/api/client"
)

// wrong is a value that the document forbids, as JSON, and the field that the problem must name.
type wrong struct {
	field string
	value json.RawMessage
}

// TestServiceRefusesForbiddenRequests derives from each request of the document what it forbids: fields that are missing, unknown,
// there twice, of another type, out of range, too long, of another form. The service must refuse each, and name the field.
func TestServiceRefusesForbiddenRequests(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc := document(t)
	bodies := 0
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for method, operation := range item.Operations() {
			parameters := append(slices.Clone(item.Parameters), operation.Parameters...)
			at := target(t, path, parameters, openapi3.ParameterInPath, "", "")
			for _, p := range parameters {
				if p.Value.In == openapi3.ParameterInHeader {
					continue // see deadline_test.go
				}
				for _, text := range wrongTexts(p.Value.Schema.Value) {
					if text != "" || p.Value.In == openapi3.ParameterInQuery { // a path has no empty part
						at := target(t, path, parameters, p.Value.In, p.Value.Name, text)
						s.refuses(method, at, []bad{{exampleBody(t, operation), p.Value.Name, ""}})
					}
				}
			}
			if operation.RequestBody == nil {
				continue
			}
			bodies++
			schema := operation.RequestBody.Value.Content["application/json"].Schema.Value
			if a := s.send(method, at, exampleBody(t, operation)); a.status == 400 {
				t.Errorf("%s %s: what the document allows is refused: %s", method, at, a.body)
			}
			for _, w := range append(wrongs(t, "", schema), repeated(t, schema)...) {
				if one, in := strings.CutPrefix(w.field, "deductions[1]"); in && at == many {
					s.refusesOne(string(w.value), strings.TrimPrefix(one, "."))
					continue
				}
				s.refuses(method, at, []bad{{string(w.value), w.field, ""}})
			}
		}
	}
	if bodies < 8 {
		t.Errorf("the document has only %d requests with a body", bodies)
	}
}

// refusesOne checks that the second of many orders is refused as if it had been sent alone, or the request with it if it cannot be
// read.
func (s *site) refusesOne(body, field string) {
	s.t.Helper()
	a := s.send("POST", many, body)
	if a.status == 400 {
		return
	}
	var got client.DeductionResults
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || len(got.Results) != 2 {
		s.t.Fatalf("%s: got %d %s", body, a.status, a.body)
	}
	if p := got.Results[1].Problem; p == nil || p.Code != client.InvalidRequest || p.Field == nil || *p.Field != cmp.Or(field, "body") {
		s.t.Errorf("%s: got %s, want a problem of %q", body, a.body, field)
	}
}

// target fills in a path and a query with examples, and with text for the named parameter.
func target(t *testing.T, path string, parameters openapi3.Parameters, in, name, text string) string {
	t.Helper()
	for _, p := range parameters {
		value := text
		if p.Value.Name != name || p.Value.In != in {
			if p.Value.In == openapi3.ParameterInQuery {
				continue
			}
			if err := json.Unmarshal(example(t, p.Value.Schema.Value), &value); err != nil {
				t.Fatal(err)
			}
		}
		if p.Value.In == openapi3.ParameterInQuery {
			path += "?" + p.Value.Name + "=" + url.QueryEscape(value)
		}
		path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(value))
	}
	return path
}

// wrongTexts returns texts that a parameter may not be.
func wrongTexts(schema *openapi3.Schema) (texts []string) {
	if schema.Type.Is(openapi3.TypeInteger) {
		texts = []string{"", "x", "1.5", "1e3", "0x10", "9223372036854775808"}
		if schema.Min != nil {
			texts = append(texts, fmt.Sprint(int64(*schema.Min)-1))
		}
		if schema.Max != nil {
			texts = append(texts, fmt.Sprint(int64(*schema.Max)+1))
		}
		return texts
	}
	for _, text := range append(oddTexts(), strings.Repeat("x", int(value(schema.MaxLength))+1)) {
		if schema.VisitJSON(text) != nil {
			texts = append(texts, text)
		}
	}
	return append(texts, "a\x00b", "a\nb", "\xff")
}

// oddTexts returns texts, each forbidden by some schema.
func oddTexts() []string {
	return []string{
		"", "%", "ü", ".", "..", "a/../b", `..\a`, "./a", " a", "a ", "\u3000a", "a\u200bb", "\u202ea", "a\u2028", "a\u00ad", "\ufeffa",
		"a\u3164", "a\ufe0f", "a\U000e0041", "a\u0085b", strings.Repeat("x", 1000),
	}
}

// value returns an optional number; 0 if it is missing.
func value(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

func exampleBody(t *testing.T, operation *openapi3.Operation) string {
	if operation.RequestBody == nil {
		return ""
	}
	return string(example(t, operation.RequestBody.Value.Content["application/json"].Schema.Value))
}

// example returns a value that a schema allows.
func example(t *testing.T, schema *openapi3.Schema) json.RawMessage {
	t.Helper()
	schema = resolved(schema)
	switch {
	case schema.Example != nil:
		return encoded(t, schema.Example)
	case schema.Type.Is(openapi3.TypeObject):
		members := map[string]json.RawMessage{}
		for name, property := range schema.Properties {
			members[name] = example(t, property.Value)
		}
		return encoded(t, members)
	case schema.Type.Is(openapi3.TypeArray):
		return encoded(t, []json.RawMessage{example(t, schema.Items.Value)})
	case schema.Type.Is(openapi3.TypeInteger):
		return json.RawMessage("1")
	case schema.Type.Is(openapi3.TypeBoolean):
		return json.RawMessage("true")
	case len(schema.Enum) > 0:
		return encoded(t, schema.Enum[0])
	case schema.Type.Is(openapi3.TypeString) && schema.Pattern == "" && schema.Format == "":
		return json.RawMessage(`"x"`)
	default:
		t.Fatalf("a schema of the document needs an example: %+v", schema)
		return nil
	}
}

// wrongs returns values that a schema forbids for a field.
func wrongs(t *testing.T, name string, schema *openapi3.Schema) (all []wrong) {
	t.Helper()
	schema = resolved(schema)
	field := name
	if name == "" {
		field = "body"
	}
	if len(schema.OneOf) > 0 {
		return wrongForAll(t, name, schema)
	}
	add := func(value string) { all = append(all, wrong{field, json.RawMessage(value)}) }
	for kind, value := range map[string]string{
		openapi3.TypeObject: "{}", openapi3.TypeArray: "[]", openapi3.TypeString: `"1"`, openapi3.TypeInteger: "1", openapi3.TypeBoolean: "true",
	} {
		if !schema.Type.Is(kind) {
			add(value)
		}
	}
	add("null")
	switch {
	case schema.Type.Is(openapi3.TypeObject):
		return append(all, wrongMembers(t, name, schema)...)
	case schema.Type.Is(openapi3.TypeArray):
		one := example(t, schema.Items.Value)
		add("[]")
		add(string(encoded(t, slices.Repeat([]json.RawMessage{one}, int(*schema.MaxItems)+1))))
		for _, w := range wrongs(t, name+"[1]", schema.Items.Value) {
			all = append(all, wrong{w.field, encoded(t, []json.RawMessage{another(t, schema.Items.Value), w.value})})
		}
	case schema.Type.Is(openapi3.TypeInteger):
		for _, value := range []string{"1.5", "1e3", "9223372036854775808", "-9223372036854775809"} {
			add(value)
		}
		add(fmt.Sprint(int64(*schema.Min) - 1))
		add(fmt.Sprint(int64(*schema.Max) + 1))
		if schema.Not != nil {
			add(string(encoded(t, schema.Not.Value.Enum[0])))
		}
	case schema.Type.Is(openapi3.TypeString):
		add(`"a\u0000b"`)
		add(`"a\nb"`)
		for _, text := range wrongTexts(schema) {
			if text != "\xff" {
				add(string(encoded(t, text)))
			}
		}
		if schema.Format != "" {
			add(`"yesterday"`)
			add(`"2026-13-01T00:00:00Z"`)
		}
	}
	return all
}

// wrongForAll returns values that no alternative of a schema allows. The document cannot forbid a spelling of a number, and
// the service does.
func wrongForAll(t *testing.T, name string, schema *openapi3.Schema) (all []wrong) {
	t.Helper()
	spelled := regexp.MustCompile(`^-?[0-9]+[.eE]`)
	for _, alternative := range schema.OneOf {
		for _, w := range wrongs(t, name, alternative.Value) {
			var value any
			if err := json.Unmarshal(w.value, &value); err != nil {
				t.Fatal(err)
			}
			if schema.VisitJSON(value) != nil || spelled.Match(w.value) {
				all = append(all, w)
			}
		}
	}
	return all
}

// wrongMembers returns the objects with one member that is wrong, missing or unknown.
func wrongMembers(t *testing.T, name string, schema *openapi3.Schema) (all []wrong) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(example(t, schema), &members); err != nil {
		t.Fatal(err)
	}
	with := func(member string, value json.RawMessage) json.RawMessage {
		changed := maps.Clone(members)
		if changed[member] = value; value == nil {
			delete(changed, member)
		}
		return encoded(t, changed)
	}
	prefix := ""
	if name != "" {
		prefix = name + "."
	}
	all = append(all, wrong{prefix + "unexpected", with("unexpected", json.RawMessage("1"))})
	for _, required := range schema.Required {
		all = append(all, wrong{prefix + required, with(required, nil)})
	}
	for member, property := range schema.Properties {
		for _, w := range wrongs(t, prefix+member, property.Value) {
			if property.Value.Nullable && string(w.value) == "null" {
				continue
			}
			all = append(all, wrong{w.field, with(member, w.value)})
		}
	}
	return all
}

// repeated returns the objects that have a member twice.
func repeated(t *testing.T, schema *openapi3.Schema) (all []wrong) {
	t.Helper()
	text := example(t, schema)
	for member, property := range schema.Properties {
		twice := append(append([]byte(`{"`+member+`":`), example(t, property.Value)...), ',')
		all = append(all, wrong{member, append(twice, bytes.TrimPrefix(text, []byte("{"))...)})
	}
	return all
}

// another returns an order line that differs from the example: no SKU may be there twice.
func another(t *testing.T, schema *openapi3.Schema) json.RawMessage {
	return bytes.Replace(example(t, schema), []byte("sneaker-42"), []byte("sneaker-43"), 1)
}

// resolved returns the schema to which another one refers with its own description.
func resolved(schema *openapi3.Schema) *openapi3.Schema {
	if len(schema.AllOf) == 1 {
		return resolved(schema.AllOf[0].Value)
	}
	return schema
}

func encoded(t *testing.T, value any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
