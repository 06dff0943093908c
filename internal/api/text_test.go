package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"inventory/internal/stock"
)

// TestTheDocumentKnowsWhatCannotBeSeen compares the pattern of ids with the check, for every character.
func TestTheDocumentKnowsWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	schema := document(t).Components.Schemas["NewID"].Value
	hold := func(text string) {
		refused := stock.CheckBuyerID(text) != nil
		if forbidden := schema.VisitJSON(text) != nil; refused != forbidden {
			t.Errorf("%+q: refused %v, forbidden by the document %v", text, refused, forbidden)
		}
	}
	var allowed []rune // by the service: the document allows a text of them if it allows each
	for r := rune(0); r < 0xe1100; r++ {
		if r == 0x20000 {
			r = 0xdff00 // all between are letters, or unassigned
		}
		switch text := "a" + string(r) + "b"; {
		case !utf8.ValidRune(r):
		case stock.CheckBuyerID(text) != nil:
			hold(text)
		default:
			allowed = append(allowed, r)
		}
		if len(allowed) == 30 || r == 0xe10ff {
			hold("a" + string(allowed) + "b")
			allowed = allowed[:0]
		}
		if r < 0x3100 {
			hold(string(r))
			hold("a" + string(r))
		}
	}
}

// TestTextsOfTheDocumentAreBounded: a gateway that checks patterns must not have to check a long text.
func TestTextsOfTheDocumentAreBounded(t *testing.T) {
	t.Parallel()
	for name, schema := range document(t).Components.Schemas {
		if schema.Value.Pattern != "" && schema.Value.MaxLength == nil {
			t.Errorf("%s has a pattern and no maxLength", name)
		}
		for field, property := range schema.Value.Properties {
			if s := resolved(property.Value); s.Pattern != "" && s.MaxLength == nil {
				t.Errorf("%s.%s has a pattern and no maxLength", name, field)
			}
		}
	}
}

// TestEveryIDCanBeAddressed: a path can name every id that a body can, on every route with an id.
func TestEveryIDCanBeAddressed(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, sku := range []string{"a", "...", "A.b-c_9"} {
		path := "/v1/skus/" + url.PathEscape(sku)
		s.want(s.send("PUT", path, `{"stock":1000,"segments":2}`), 201, "")
		ids := []string{
			"a/b", "/", "//", "a/", "/a", `\`, `a\b`, "a b", "ü😀", "a%2Fb", "%", "%%", "%zz", "%2e%2e", "%2E", "?x=1", "#", "a#b", "...", "a..b", "a+b",
			"&", "=", ";", ":", "@", "*", "~", "'", `"`, "<>", "{}", "[]", "|", "^", "`", "commit", "a/commit", "http://x/y", strings.Repeat("/", 128),
			strings.Repeat("ü", 64), "e\u0301", "\u00e9",
		}
		if i > 0 {
			ids = ids[:10] // how an id is escaped does not depend on the SKU
		}
		for _, id := range ids {
			order := path + "/deductions/" + url.PathEscape(id)
			named := `"order_id":` + asJSON(t, id) + `,`
			s.want(s.send("POST", path+"/deductions", `{`+named+`"quantity":2,"reserve_for":"1h"}`), 201, "")
			for _, r := range []struct{ method, path, body string }{
				{"GET", order, ""},
				{"POST", order + "/extend", `{"ref":"r","reserve_for":"1h"}`},
				{"POST", order + "/commit", `{"quantity":1}`},
				{"POST", order + "/return", ""},
				{"GET", order + "/history", ""},
			} {
				if a := s.send(r.method, r.path, r.body); a.status != 200 || orderIDOf(t, a) != id {
					t.Errorf("%s %s of %q: %d %s", r.method, r.path, id, a.status, a.body)
				}
			}
			s.want(s.send("POST", path+"/restock", `{"ref":`+asJSON(t, id)+`,"quantity":1}`), 201, "")
		}
		s.want(s.send("GET", path, ""), 200, "")
		s.want(s.send("GET", path+"/movements", ""), 200, "")
		s.want(s.send("GET", path+"/audit", ""), 200, "")
	}
	for _, sku := range []string{".", ".."} {
		s.wantProblem(s.send("PUT", "/v1/skus/"+sku, `{"stock":1}`), 400, "invalid_request", `"field":"sku"`)
	}
	for _, id := range []string{".", "..", "../a", "a/..", `a\..\b`} {
		s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":`+asJSON(t, id)+`,"quantity":1}`), 400, "invalid_request", `"field":"order_id"`)
		s.wantProblem(s.send("POST", "/v1/orders", `{"order_id":`+asJSON(t, id)+`,"lines":[{"sku":"a","quantity":1}]}`), 400,
			"invalid_request", `"field":"order_id"`)
	}
}

func TestTimesWithSmallLetters(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.send("PUT", "/v1/skus/a", `{"stock":1,"sale_starts_at":"2026-01-01t00:00:00z","sale_ends_at":"2026-01-01T00:00:00.5+23:59"}`)
	s.wantProblem(a, 400, "invalid_request", `"field":"sale_ends_at"`) // a day earlier, so it was read
	a = s.send("PUT", "/v1/skus/a", `{"stock":1,"sale_starts_at":"2996-01-01t00:00:00z","sale_ends_at":"2996-01-01t00:00:00.5-23:59"}`)
	s.want(a, 201, "")
	if !strings.Contains(a.body, `"sale_starts_at":"2996-01-01T00:00:00Z","sale_ends_at":"2996-01-01T23:59:00.5Z"`) {
		t.Error(a.body)
	}
}

func orderIDOf(t *testing.T, a answer) string {
	t.Helper()
	var body struct {
		OrderID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Error(err)
	}
	return body.OrderID
}

func asJSON(t *testing.T, value any) string { return string(encoded(t, value)) }
