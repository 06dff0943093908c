package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"inventory/internal/stock"
)

// bad is a request that must be refused: the problem names the field and states what is allowed.
type bad struct{ body, field, says string }

// badNumbers returns wrong forms of a number of 1 to a million.
func badNumbers(name, before, after string) (all []bad) {
	const allowed, whole = "1 to 1000000", "whole number"
	for value, says := range map[string]string{
		"0": allowed, "-1": allowed, "1000001": allowed, "2147483648": allowed, "9223372036854775807": allowed,
		"9223372036854775808": allowed, "-9223372036854775809": allowed, "1.5": whole, "1e3": whole, `"1"`: whole,
		"null": whole, "true": whole, "[1]": whole, "{}": whole, "1e400": whole,
	} {
		all = append(all, bad{before + value + after, name, says})
	}
	return all
}

// badTexts returns wrong forms of a text of 1 to 128 bytes.
func badTexts(name, before, after string) (all []bad) {
	for value, says := range map[string]string{
		`"` + strings.Repeat("x", 129) + `"`: "1 to 128 bytes", `"` + strings.Repeat("ü", 65) + `"`: "1 to 128 bytes",
		`"a\u0000b"`: "control", `"a\nb"`: "control", `"a\u007fb"`: "control", `"a\u0085b"`: "control",
		`"\ud800"`: "JSON", "\"\xff\"": "JSON", "\"a\nb\"": "JSON",
		"null": "string", "7": "string", `["a"]`: "string", `{"a":1}`: "string", "false": "string",
	} {
		all = append(all, bad{before + value + after, name, says})
	}
	return all
}

func badDurations(name, before, after string) (all []bad) {
	for _, value := range []string{
		`""`, `"0"`, `"0s"`, `"-1s"`, `"+1s"`, `"15"`, `"15 m"`, `"15min"`, `"1d"`, `"1ns"`, `"1500ns"`, `"999ms"`, `"720h1us"`, `"2562048h"`,
		`"99999999999999999999h"`, `"P1M"`, `"PT15"`, `0`, `-1`, `2592001`, `"\u0000"`, `"` + strings.Repeat("0", 31) + `1s"`, `"` + strings.Repeat("1", 10_000) + `"`,
	} {
		all = append(all, bad{before + value + after, name, "1s to 720h"})
	}
	for _, value := range []string{"1.5", "null", "true", "[]"} {
		all = append(all, bad{before + value + after, name, "string"})
	}
	return all
}

// badBodies returns bodies that are wrong on every route.
func badBodies() []bad {
	return []bad{
		{`[]`, "body", "JSON object"},
		{`"x"`, "body", "JSON object"},
		{`7`, "body", "JSON object"},
		{` null `, "body", "JSON object"},
		{`{`, "body", "JSON"},
		{`{}{}`, "body", "JSON"},
		{`{} x`, "body", "JSON"},
		{"\xef\xbb\xbf{}", "body", "JSON"},
		{`{"price":2}`, "price", "not a field"},
		{`{"fence":2}`, "fence", "not a field"},
		{`{"Quantity":1}`, "Quantity", "not a field"},
		{`{"sku_id":"a"}`, "sku_id", "not a field"},
		{strings.Repeat(`{"a":`, 3000), "a.a.a", "JSON"},
		{strings.Repeat(`[`, 16000), "body", "JSON"},
	}
}

// refuses sends each request and demands its refusal.
func (s *site) refuses(method, path string, requests ...[]bad) {
	s.t.Helper()
	for _, some := range requests {
		for _, r := range some {
			a := s.send(method, path, r.body)
			if a.status != 400 {
				s.t.Logf("%s %s %.200q", method, path, r.body)
			}
			s.wantProblem(a, 400, "invalid_request", `"field":"`+r.field+`"`, r.says)
		}
	}
}

func TestBadDeductions(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	s.refuses("POST", "/v1/skus/a/deductions", badBodies(),
		badNumbers("quantity", `{"order_id":"o","quantity":`, `}`),
		badTexts("order_id", `{"quantity":1,"order_id":`, `}`),
		badTexts("buyer_id", `{"quantity":1,"order_id":"o","buyer_id":`, `}`),
		badDurations("reserve_for", `{"quantity":1,"order_id":"o","reserve_for":`, `}`),
		[]bad{
			{`{}`, "order_id", "required"},
			{`{"order_id":"o"}`, "quantity", "required"},
			{`{"quantity":1}`, "order_id", "required"},
			{`{"order_id":"","quantity":1}`, "order_id", "1 to 128 bytes"},
			{`{"order_id":"o","buyer_id":"","quantity":1}`, "buyer_id", "empty"},
			{`{"order_id":"o","quantity":1,"quantity":2}`, "quantity", "twice"},
			{`{"order_id":"o","quantity":1,"quantity":1}`, "quantity", "twice"},
			{`{"order_id":"o","quantity":1,"reserve_for":"1s","reserve_for":"1s"}`, "reserve_for", "twice"},
			{`{"order_id":"o","quantity":1,"status":"committed"}`, "status", "not a field"},
			{`{"order_id":"o","quantity":1,"expires_at":"2026-01-01T00:00:00Z"}`, "expires_at", "not a field"},
			{`{"order_id":"o","quantity":1} {}`, "body", "JSON"},
			{`{"order_id":"o","quantity":1`, "body", "JSON"},
			{`{"order_id":"o","quantity":01}`, "body", "JSON"},
		})
	if a := s.send("GET", "/v1/skus/a", ""); !strings.Contains(a.body, `"available":100,`) {
		t.Errorf("bad input sold something: %s", a.body)
	}
}

func TestBadSKUs(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":1}`), 201, "")
	s.refuses("PUT", "/v1/skus/b", badBodies(),
		badNumbers("max_quantity", `{"stock":1,"max_quantity":`, `}`),
		badDurations("max_reserve_for", `{"stock":1,"max_reserve_for":`, `}`),
		[]bad{
			{`{}`, "stock", "required"},
			{`{"stock":-1}`, "stock", "0 to 1000000000"},
			{`{"stock":1000000001}`, "stock", "0 to 1000000000"},
			{`{"stock":9223372036854775808}`, "stock", "0 to 1000000000"},
			{`{"stock":"1"}`, "stock", "whole number"},
			{`{"stock":1,"segments":0}`, "segments", "1 to 1024"},
			{`{"stock":1,"segments":1025}`, "segments", "1 to 1024"},
			{`{"stock":1,"segments":9223372036854775808}`, "segments", "1 to 1024"},
			{`{"stock":1,"per_buyer_limit":0}`, "per_buyer_limit", "1 to 1000000000"},
			{`{"stock":1,"per_buyer_limit":-1}`, "per_buyer_limit", "1 to 1000000000"},
			{`{"stock":1,"per_buyer_limit":1000000001}`, "per_buyer_limit", "1 to 1000000000"},
			{`{"stock":1,"per_buyer_limit":1.5}`, "per_buyer_limit", "whole number"},
			{`{"stock":1,"name":"a\u0007"}`, "name", "control"},
			{`{"stock":1,"name":"` + strings.Repeat("x", 201) + `"}`, "name", "200"},
			{`{"stock":1,"layout":1}`, "layout", "not a field"},
			{`{"stock":1,"sale_ends_at":"2026-01-01T00:00:00Z","sale_starts_at":"2026-01-01T00:00:00Z"}`, "sale_ends_at", "later"},
			{`{"stock":1,"sale_ends_at":"2026-01-01T00:00:00Z","sale_starts_at":"2026-01-01T00:00:00.5Z"}`, "sale_ends_at", "later"},
		})
	for _, field := range []string{"sale_starts_at", "sale_ends_at"} {
		for value, says := range map[string]string{
			`""`: "RFC 3339", `"tomorrow"`: "RFC 3339", `"2026-01-01"`: "RFC 3339", `"2026-01-01T00:00:00"`: "RFC 3339",
			`"2026-02-30T00:00:00Z"`: "RFC 3339", `"2026-01-01 00:00:00Z"`: "RFC 3339", `"2026-01-01T24:00:00Z"`: "RFC 3339",
			`"2026-01-01T0:00:00Z"`: "RFC 3339", `"2026-01-01T00:00:00,5Z"`: "RFC 3339", `"2026-01-01T00:00:00+25:00"`: "RFC 3339", `"2026-01-01T00:00:00+24:00"`: "RFC 3339",
			`"2026-01-01T00:00:00-23:60"`: "RFC 3339", `"2026-01-01T00:00:00.` + strings.Repeat("0", 64) + `Z"`: "RFC 3339", `"0001-01-01T00:00:00Z"`: "RFC 3339", `"1767225600"`: "RFC 3339",
			`"10000-01-01T00:00:00Z"`: "RFC 3339", `"1969-12-31T23:59:59Z"`: "1970 to 2999", `"3000-01-01T00:00:00Z"`: "1970 to 2999",
			`"0001-01-01T00:00:00.0000009Z"`: "RFC 3339", `"9999-12-31T23:59:59-00:01"`: "1970 to 2999", `"0000-01-01T00:00:00+00:01"`: "1970 to 2999",
			`1767225600`: "RFC 3339", `null`: "RFC 3339", `{}`: "RFC 3339",
		} {
			s.refuses("PUT", "/v1/skus/b", []bad{{`{"stock":1,"` + field + `":` + value + `}`, field, says}})
			if value != `null` { // which takes the term away
				s.refuses("PATCH", "/v1/skus/a", []bad{{`{"ref":"r","` + field + `":` + value + `}`, field, says}})
			}
		}
	}
	s.wantProblem(s.send("GET", "/v1/skus/b", ""), 404, "unknown_sku")
}

func TestBadSettlements(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":3,"reserve_for":"1h"}`), 201, "")
	s.refuses("POST", "/v1/skus/a/deductions/o/commit", badBodies(), badNumbers("quantity", `{"quantity":`, `}`), []bad{
		{`{"quantity":4}`, "quantity", "1 to 3"},
		{`{"quantity":2,"quantity":2}`, "quantity", "twice"},
		{`{"reserve_for":"1h"}`, "reserve_for", "not a field"},
	})
	s.refuses("POST", "/v1/skus/a/deductions/o/cancel", badBodies(), badNumbers("quantity", `{"ref":"r","quantity":`, `}`), badTexts("ref", `{"quantity":1,"ref":`, `}`), []bad{
		{`{"quantity":1}`, "ref", "required"},
		{`{"ref":"r"}`, "quantity", "required"},
		{`{"ref":"","quantity":1}`, "ref", "1 to 128 bytes"},
		{`{"ref":"r\u200b","quantity":1}`, "ref", "invisible"},
		{`{"ref":"r","quantity":4}`, "quantity", "1 to 3"},
		{`{"ref":"r","quantity":1,"quantity":1}`, "quantity", "twice"},
		{`{"ref":"r","quantity":1,"reserve_for":"1h"}`, "reserve_for", "not a field"},
	})
	s.refuses("POST", "/v1/skus/a/deductions/o/return", badBodies(), badNumbers("quantity", `{"ref":"r","quantity":`, `}`), badTexts("ref", `{"quantity":1,"ref":`, `}`), []bad{
		{`{"quantity":1}`, "ref", "required"},
		{`{"ref":"r"}`, "quantity", "required"},
		{`{"restock":"no"}`, "restock", "true or false"},
		{`{"restock":null}`, "restock", "true or false"},
		{`{"reason":""}`, "reason", "empty"},
		{`{"reason":1}`, "reason", "string"},
		{`{"restock":false,"restock":false}`, "restock", "twice"},
	})
	s.refuses("POST", "/v1/skus/a/deductions/o/extend", badBodies(), badDurations("reserve_for", `{"ref":"r","reserve_for":`, `}`), badTexts("ref", `{"reserve_for":"2h","ref":`, `}`), []bad{
		{`{}`, "ref", "required"},
		{`{"ref":"r"}`, "reserve_for", "required"},
		{`{"reserve_for":"2h"}`, "ref", "required"},
		{`{"ref":"","reserve_for":"2h"}`, "ref", "1 to 128 bytes"},
		{`{"ref":"r","reserve_for":"2h","reserve_for":"2h"}`, "reserve_for", "twice"},
		{`{"ref":"r","reserve_for":"2h","quantity":1}`, "quantity", "not a field"},
		{`{"ref":"r","reserve_for":"2h","expires_at":"2999-01-01T00:00:00Z"}`, "expires_at", "not a field"},
	})
	a := s.send("GET", "/v1/skus/a/deductions/o", "")
	if !strings.Contains(a.body, `"quantity":3,"status":"reserved"`) {
		t.Errorf("bad input settled something: %s", a.body)
	}
}

func TestBadOrders(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	line := `{"sku":"a","quantity":1}`
	lines := `"lines":[` + line + `]`
	manyLines := strings.TrimSuffix(strings.Repeat(line+",", stock.MaxLines+1), ",")
	hugeLines := strings.TrimSuffix(strings.Repeat("{},", 20000), ",")
	s.refuses("POST", "/v1/orders", badBodies(),
		badTexts("order_id", `{`+lines+`,"order_id":`, `}`),
		badTexts("buyer_id", `{"order_id":"o",`+lines+`,"buyer_id":`, `}`),
		badDurations("reserve_for", `{"order_id":"o",`+lines+`,"reserve_for":`, `}`),
		badNumbers("lines[1].quantity", `{"order_id":"o","lines":[`+line+`,{"sku":"b","quantity":`, `}]}`),
		[]bad{
			{`{` + lines + `}`, "order_id", "required"},
			{`{"order_id":"o"}`, "lines", "required"},
			{`{"order_id":"o","lines":null}`, "lines", "array"},
			{`{"order_id":"o","lines":[]}`, "lines", "1 to 1000"},
			{`{"order_id":"o","lines":{}}`, "lines", "array"},
			{`{"order_id":"o","lines":"a"}`, "lines", "array"},
			{`{"order_id":"o","lines":[1]}`, "lines[0]", "JSON object"},
			{`{"order_id":"o","lines":[` + line + `,[]]}`, "lines[1]", "JSON object"},
			{`{"order_id":"o","lines":[null]}`, "lines[0]", "JSON object"},
			{`{"order_id":"o","lines":[` + line + `,{"quantity":1}]}`, "lines[1].sku", "required"},
			{`{"order_id":"o","lines":[{"sku":"a"}]}`, "lines[0].quantity", "required"},
			{`{"order_id":"o","lines":[{"sku":"a","quantity":1,"price":1}]}`, "lines[0].price", "not a field"},
			{`{"order_id":"o","lines":[{"sku":"a","quantity":1,"sku":"b"}]}`, "lines[0].sku", "twice"},
			{`{"order_id":"o","lines":[{"sku":"","quantity":1}]}`, "lines[0].sku", "1 to 64"},
			{`{"order_id":"o","lines":[` + line + `,{"sku":"a b","quantity":1}]}`, "lines[1].sku", "A-Z"},
			{`{"order_id":"o","lines":[{"sku":7,"quantity":1}]}`, "lines[0].sku", "string"},
			{`{"order_id":"o","lines":[` + line + `,` + line + `]}`, "lines[1].sku", "twice"},
			{`{"order_id":"o","lines":[` + manyLines + `]}`, "lines", "1 to 1000"},
			{`{"order_id":"o","lines":[` + hugeLines + `]}`, "lines", "1 to 1000"},
			{`{"order_id":"o",` + lines + `,"sku":"a"}`, "sku", "not a field"},
			{`{"order_id":"o","buyer_id":"",` + lines + `}`, "buyer_id", "empty"},
		})
	if a := s.send("GET", "/v1/skus/a", ""); !strings.Contains(a.body, `"available":100,`) {
		t.Errorf("bad input sold something: %s", a.body)
	}
}

func TestBadChanges(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	long := strings.Repeat("x", 501)
	for _, route := range []string{"restock", "adjust", "resegment"} {
		rest := `"quantity":1,"reason":"count"`
		if route == "resegment" {
			rest = `"segments":3`
		}
		s.refuses("POST", "/v1/skus/a/"+route, badBodies(), badTexts("ref", `{`+rest+`,"ref":`, `}`), []bad{
			{`{` + rest + `}`, "ref", "required"},
			{`{` + rest + `,"ref":""}`, "ref", "1 to 128 bytes"},
			{`{"ref":"r",` + rest + `,"ref":"r"}`, "ref", "twice"},
			{`{"ref":"r",` + rest + `,"kind":"adjust"}`, "kind", "not a field"},
		})
	}
	s.refuses("POST", "/v1/skus/a/restock", badNumbers("quantity", `{"ref":"r","quantity":`, `}`), []bad{
		{`{"ref":"r"}`, "quantity", "required"},
		{`{"ref":"r","quantity":1,"reason":7}`, "reason", "string"},
		{`{"ref":"r","quantity":1,"reason":"` + long + `"}`, "reason", "500"},
		{`{"ref":"r","quantity":1,"reason":"a\u0000"}`, "reason", "control"},
		{`{"ref":"r","quantity":1,"segments":1}`, "segments", "not a field"},
	})
	s.refuses("POST", "/v1/skus/a/adjust", []bad{
		{`{"ref":"r","quantity":0,"reason":"x"}`, "quantity", "-1000000 to 1000000, and not 0"},
		{`{"ref":"r","quantity":-1000001,"reason":"x"}`, "quantity", "-1000000 to 1000000"},
		{`{"ref":"r","quantity":1000001,"reason":"x"}`, "quantity", "-1000000 to 1000000"},
		{`{"ref":"r","quantity":-9223372036854775808,"reason":"x"}`, "quantity", "-1000000 to 1000000"},
		{`{"ref":"r","quantity":-9223372036854775809,"reason":"x"}`, "quantity", "-1000000 to 1000000"},
		{`{"ref":"r","quantity":1.5,"reason":"x"}`, "quantity", "whole number"},
		{`{"ref":"r","reason":"x"}`, "quantity", "required"},
		{`{"ref":"r","quantity":1,"reason":null}`, "reason", "string"},
		{`{"ref":"r","quantity":1,"reason":"` + long + `"}`, "reason", "500"},
	})
	s.refuses("POST", "/v1/skus/a/resegment", []bad{
		{`{"ref":"r"}`, "segments", "required"},
		{`{"ref":"r","segments":0}`, "segments", "1 to 1024"},
		{`{"ref":"r","segments":-1}`, "segments", "1 to 1024"},
		{`{"ref":"r","segments":1025}`, "segments", "1 to 1024"},
		{`{"ref":"r","segments":9223372036854775808}`, "segments", "1 to 1024"},
		{`{"ref":"r","segments":"3"}`, "segments", "whole number"},
		{`{"ref":"r","segments":3,"quantity":1}`, "quantity", "not a field"},
	})
	s.want(s.send("GET", "/v1/skus/a/movements", ""), 200, `{"sku":"a","movements":[]}`)
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=1001": "limit", "limit=1.5": "limit", "limit=1e3": "limit", "limit=%2B5": "limit", "limit=05": "limit",
		"limit=x": "limit", "limit=": "limit", "limit": "limit", "limit=9223372036854775808": "limit", "limit=5&limit=5": "limit",
		"after=": "after", "after=%00": "after", "after=AAAA": "after", "after=AAAAAAAAAAA": "after", "after=!": "after",
		"after=AAAAAAAAAABh&after=AAAAAAAAAABh": "after",
		"after=AAAAAAAAAABh==":                  "after", // padding
		"after=AAAAAAAAAABi":                    "",      // a made-up cursor is allowed
		"after=AAAAAAAAAAAA":                    "after", // the ref is NUL
		"after=AAAAAAAAAAD_":                    "after", // not UTF-8
		"after=__________9h":                    "after", // before 1970
		"after=f_________9h":                    "after", // after all years
		"after=" + strings.Repeat("A", 300):     "after",
		"after=" + strings.Repeat("YWFh", 100):  "after",
		"order=desc":                            "order", "Limit=5": "Limit", "limit=5;after=x": "query", "limit=%zz": "query",
	} {
		a := s.send("GET", "/v1/skus/a/movements?"+query, "")
		if field == "" {
			s.want(a, 200, "")
			continue
		}
		if a.status != 400 {
			t.Log(query)
		}
		s.wantProblem(a, 400, "invalid_request", `"field":"`+field+`"`)
	}
}

func TestBadPaths(t *testing.T) {
	t.Parallel()
	s := open(t)
	const deduction, line = `{"order_id":"o","quantity":1}`, `{"ref":"r","quantity":1,"reason":"x"}`
	for _, sku := range []string{"a%20b", "%C3%A4", strings.Repeat("x", 65), "a%7Bb%7D", "a%2Fb", "%00", "%FF"} {
		for _, r := range []struct{ method, path, body string }{
			{"GET", "", ""},
			{"PUT", "", `{"stock":1}`},
			{"PATCH", "", `{"ref":"r","name":"x"}`},
			{"DELETE", "", ""},
			{"GET", "/deductions", ""},
			{"POST", "/deductions", deduction},
			{"GET", "/deductions/o", ""},
			{"POST", "/deductions/o/commit", ""},
			{"POST", "/deductions/o/cancel", ""},
			{"POST", "/deductions/o/extend", `{"ref":"r","reserve_for":"2h"}`},
			{"POST", "/restock", line},
			{"POST", "/adjust", line},
			{"POST", "/resegment", `{"ref":"r","segments":2}`},
			{"GET", "/movements", ""},
			{"GET", "/audit", ""},
		} {
			s.wantProblem(s.send(r.method, "/v1/skus/"+sku+r.path, r.body), 400, "invalid_request", `"field":"sku"`)
		}
	}
	for _, order := range []string{strings.Repeat("x", 129), "a%0Ab", "%00", "%FF", url.PathEscape(strings.Repeat("ü", 65))} {
		for path, method := range map[string]string{"": "GET", "/history": "GET", "/commit": "POST", "/cancel": "POST", "/return": "POST"} {
			s.wantProblem(s.send(method, "/v1/skus/a/deductions/"+order+path, ""), 400, "invalid_request", `"field":"order_id"`)
		}
	}
	s.wantProblem(s.send("DELETE", "/v1/skus/a/audit", ""), 405, "method_not_allowed")
	s.wantProblem(s.send("GET", "/v1/skus//audit", ""), 400, "invalid_request", `"field":"sku"`)
	for _, path := range []string{"/v2", "/v1/skuss", "/v1/skus/a/nothing", "/metrics", "/healthz", "/readyz", "/debug/pprof/"} {
		s.wantProblem(s.send("GET", path, ""), 404, "not_found")
	}
}

func TestBodyThatIsTooLargeOrNotJSON(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":1}`), 201, "")
	huge := `{"order_id":"` + strings.Repeat("x", 10<<20) + `","quantity":1}`
	for path, method := range map[string]string{
		"/v1/skus/a": "PUT", "/v1/skus/a/deductions": "POST", "/v1/skus/a/deductions/o/commit": "POST", "/v1/skus/a/deductions/o/cancel": "POST", "/v1/skus/a/deductions/o/extend": "POST",
		"/v1/skus/a/deductions/o/return": "POST", "/v1/orders/o/commit": "POST", "/v1/orders/o/cancel": "POST", "/v1/orders/o/extend": "POST", "/v1/orders/o/change": "POST", "/v1/orders/o/return": "POST",
		"/v1/orders": "POST", "/v1/skus/a/restock": "POST", "/v1/skus/a/adjust": "POST", "/v1/skus/a/resegment": "POST",
	} {
		s.wantProblem(s.send(method, path, huge), 413, "too_large")
		for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded", "x", ""} {
			s.wantProblem(s.sendAs(mediaType, method, path, `{"order_id":"o","quantity":1}`), 415, "unsupported_media_type")
		}
		for _, header := range []http.Header{
			{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
			{"Content-Type": {"application/json; charset=utf-8"}, "Content-Encoding": {"identity", "br"}},
			{"Content-Type": {"application/json", "text/plain"}},
		} {
			s.wantProblem(s.sendWith(header, method, path, `{"order_id":"o","quantity":1}`), 415, "unsupported_media_type")
		}
	}
	s.want(s.sendAs("application/json; charset=utf-8", "POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 201, "")
}

// The service reads a body without a known length up to the limit only.
func TestBodyWithoutEnd(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for path, method := range map[string]string{
		"/v1/skus/a": "PUT", "/v1/skus/a/deductions": "POST", "/v1/skus/a/deductions/o/commit": "POST", "/v1/orders": "POST", "/v1/skus/a/restock": "POST",
	} {
		endless := &zeros{}
		r := httptest.NewRequestWithContext(t.Context(), method, path, endless)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != 413 || !strings.Contains(w.Body.String(), `"code":"too_large"`) || endless.read > 1<<20 {
			t.Errorf("%s %s: %d %s after %d bytes", method, path, w.Code, w.Body, endless.read)
		}
	}
}

// zeros is a body without end.
type zeros struct{ read int }

func (z *zeros) Read(to []byte) (int, error) {
	clear(to)
	z.read += len(to)
	return len(to), nil
}
