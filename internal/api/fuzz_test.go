package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// bodyRoutes returns the routes that read a body. Order "o" of SKU "a" is a reservation.
func bodyRoutes() []struct{ method, path, document string } {
	return []struct{ method, path, document string }{
		{"PUT", "/v1/skus/b", "NewSKU"},
		{"POST", "/v1/skus/a/deductions", "NewDeduction"},
		{"POST", "/v1/deductions", "NewDeductions"},
		{"POST", "/v1/skus/a/deductions/o/commit", "Commit"},
		{"POST", "/v1/skus/a/deductions/o/extend", "Extend"},
		{"POST", "/v1/skus/a/deductions/o/cancel", "Cancel"},
		{"POST", "/v1/skus/a/deductions/o/return", "Return"},
		{"POST", "/v1/orders/o/commit", "CommitOrder"},
		{"POST", "/v1/orders/o/cancel", "CancelOrder"},
		{"POST", "/v1/orders/o/extend", "Extend"},
		{"POST", "/v1/orders/o/change", "ChangeOrder"},
		{"POST", "/v1/orders/o/return", "ReturnOrder"},
		{"POST", "/v1/orders", "NewOrder"},
		{"POST", "/v1/skus/a/restock", "Restock"},
		{"POST", "/v1/skus/a/adjust", "Adjustment"},
		{"POST", "/v1/skus/a/resegment", "Resegment"},
	}
}

// FuzzBodies sends any body to any route: the service refuses it with a problem, or the document allows it.
func FuzzBodies(f *testing.F) {
	for i := range bodyRoutes() {
		for _, body := range []string{
			``, `{}`, `null`, `[]`, `{"a":`, `{"stock":1,"segments":2,"name":"ü","per_buyer_limit":1,"max_quantity":2}`,
			`{"stock":1,"sale_starts_at":"2026-01-01T00:00:00Z","sale_ends_at":"2999-12-31T23:59:59.999999999+01:00"}`,
			`{"stock":1,"sale_starts_at":"1969-12-31t23:00:00-23:59","sale_ends_at":"2026-01-01t00:00:00z"}`,
			`{"stock":1,"sale_starts_at":"2026-01-01T0:00:00Z","sale_ends_at":"2026-01-01T00:00:59,5Z"}`,
			`{"order_id":"p","buyer_id":"b","quantity":1,"reserve_for":"1h0.5s"}`, `{"order_id":"\u0070\ud83d\ude00","quantity":1}`,
			`{"quantity":1}`, `{"quantity":-0}`, `{"order_id":"q","lines":[{"sku":"a","quantity":1},{"sku":"c","quantity":1}],"reserve_for":"1h0m1.000001s"}`,
			`{"deductions":[{"sku":"a","order_id":"q","quantity":1},{"sku":"none","order_id":"q","buyer_id":"b","quantity":9,"reserve_for":"1s"}]}`,
			`{"deductions":[{"sku":"a","order_id":"\u0071","quantity":1}]}`, `{"deductions":[null]}`, `{"deductions":[]}`, `{"deductions":null}`,
			`{"ref":"r","quantity":-3,"reason":"count"}`, `{"ref":"s","segments":1024}`, `{"ref":"t","quantity":1e6}`,
			`{"ref":"e","reserve_for":"PT1H"}`, `{"ref":"e","reserve_for":2592000}`,
		} {
			f.Add(uint(i), []byte(body))
		}
	}
	handler := newHandler(f, nil)
	for _, sku := range []string{"a", "c"} {
		if w := serve(f, handler, "PUT", "/v1/skus/"+sku, `{"stock":1000000000}`); w.Code != 201 {
			f.Fatal(w.Body)
		}
	}
	if w := serve(f, handler, "POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":9,"reserve_for":"700h"}`); w.Code != 201 {
		f.Fatal(w.Body)
	}
	schemas := document(f).Components.Schemas
	f.Fuzz(func(t *testing.T, route uint, body []byte) {
		r := bodyRoutes()[route%uint(len(bodyRoutes()))]
		w := serve(t, handler, r.method, r.path, string(body))
		if w.Code >= 400 {
			wantRefusal(t, w)
			return
		}
		if strings.Contains(w.Body.String(), `"status":400`) { // of one of many
			return
		}
		if strings.TrimSpace(string(body)) != "" {
			holdBody(t, schemas[r.document].Value, body)
		}
	})
}

// FuzzIDs uses any SKU, order id and buyer id on every route that takes one. A refusal must be for bad input, and what is
// accepted can be read again.
func FuzzIDs(f *testing.F) {
	for _, id := range []string{"o", "a/b", "..", ".", "a b", "ü😀", "a%2Fb", "?x=1", "", "\x00", "\n", "\xff", "\u0085", "\u2028", "{}", "'", strings.Repeat("x", 128)} {
		f.Add(id, id, id)
		f.Add("a", id, "buyer")
		f.Add("a", "order "+id, id)
	}
	handler := newHandler(f, nil)
	f.Fuzz(func(t *testing.T, sku, orderID, buyerID string) {
		path := "/v1/skus/" + url.PathEscape(sku)
		body, err := json.Marshal(map[string]any{"order_id": orderID, "buyer_id": buyerID, "quantity": 1, "reserve_for": "1h"})
		if err != nil {
			t.Fatal(err)
		}
		order := path + "/deductions/" + url.PathEscape(orderID)
		serve(t, handler, "PUT", path, `{"stock":1000000000,"segments":1}`)
		accepted := false
		for i, r := range []struct{ method, path, body string }{
			{"POST", path + "/deductions", string(body)},
			{"POST", path + "/deductions", `{"order_id":"` + orderID + `","buyer_id":"` + buyerID + `","quantity":1,"reserve_for":"1h"}`},
			{"GET", order, ""},
			{"POST", order + "/extend", `{"ref":` + quoted(t, orderID) + `,"reserve_for":"1h"}`},
			{"POST", order + "/commit", ""},
			{"POST", order + "/cancel", `{}`},
			{"POST", "/v1/deductions", `{"deductions":[{"sku":` + quoted(t, sku) + `,"order_id":` + quoted(t, orderID) + `,"quantity":1}]}`},
			{"POST", path + "/restock", `{"ref":` + quoted(t, orderID) + `,"quantity":1}`},
			{"POST", "/v1/orders", `{"order_id":` + quoted(t, orderID) + `,"lines":[{"sku":` + quoted(t, sku) + `,"quantity":1}]}`},
			{"GET", path + "/movements?limit=1&after=" + url.QueryEscape(orderID), ""},
			{"GET", path, ""},
		} {
			w := serve(t, handler, r.method, r.path, r.body)
			if w.Code >= 400 {
				wantRefusal(t, w)
			}
			accepted = accepted || (i == 0 && w.Code < 300 && utf8.ValidString(orderID)) // a text that is not UTF-8 is another id in JSON
			if accepted && r.path == order && w.Code != 200 {
				t.Errorf("%s %s after it was accepted: %d %s", r.method, r.path, w.Code, w.Body)
			}
		}
	})
}

// serve lets the handler answer a request.
func serve(t testing.TB, handler http.Handler, method, path, body string) (w *httptest.ResponseRecorder) {
	t.Helper()
	inTime(t, func() answer {
		w = httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		if r.ContentLength > 0 {
			r.Header.Set("Content-Type", "application/json")
		}
		handler.ServeHTTP(w, r)
		return recorded(w)
	})
	return w
}

func recorded(w *httptest.ResponseRecorder) answer {
	return answer{status: w.Code, header: w.Header(), body: w.Body.String()}
}

// wantRefusal checks that an answer blames the caller, and names the reason.
func wantRefusal(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	var problem struct{ Code, Field, Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if w.Code >= 500 || problem.Code == "" || problem.Detail == "" || (w.Code == 400) != (problem.Field != "") {
		t.Errorf("got %d %s, want a refusal with code and detail, and a field if it is 400", w.Code, w.Body)
	}
}

// holdBody compares an accepted body with the document.
func holdBody(t *testing.T, schema *openapi3.Schema, body []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%q was accepted: %v", body, err)
	}
	if err := schema.VisitJSON(value); err != nil { // its patterns are more exact than kin-openapi's formats, which do not take t and z
		t.Fatalf("%q was accepted: %v", body, err)
	}
}

// quoted returns a text as JSON; it replaces invalid UTF-8.
func quoted(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}
