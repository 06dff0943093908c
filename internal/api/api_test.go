package api_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

func TestMainJob(t *testing.T) {
	t.Parallel()
	s := open(t)
	created := `{"sku":"shoe","stock":5,"available":5,"reserved":0,"committed":0,"segments":[{"segment":0,"available":3},{"segment":1,"available":2}]}`
	s.want(s.send("PUT", "/v1/skus/shoe", `{"stock":5,"segments":2}`), 201, created)
	s.want(s.send("PUT", "/v1/skus/shoe", `{"segments":2,"stock":5}`), 200, created)
	s.wantProblem(s.send("PUT", "/v1/skus/shoe", `{"stock":6,"segments":2}`), 409, "sku_exists")
	s.want(s.send("GET", "/v1/skus/shoe", ""), 200, created)

	won := `{"sku":"shoe","order_id":"o1","buyer_id":"b1","quantity":4,"status":"committed"}`
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o1","buyer_id":"b1","quantity":4}`), 201, won)
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"quantity":4,"buyer_id":"b1","order_id":"o1"}`), 200, won)
	s.wantProblem(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o1","buyer_id":"b1","quantity":3}`), 422, "order_id_reused")
	s.wantProblem(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o2","quantity":2}`), 409, "insufficient_stock", `"available":1`)
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o2","quantity":1}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o3","quantity":1}`), 409, "sold_out")
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o1","buyer_id":"b1","quantity":4}`), 200, won)

	s.want(s.send("GET", "/v1/skus/shoe/deductions/o1", ""), 200,
		`{"sku":"shoe","order_id":"o1","buyer_id":"b1","quantity":4,"status":"committed","parts":[{"segment":0,"quantity":3},{"segment":1,"quantity":1}]}`)
	s.wantProblem(s.send("GET", "/v1/skus/shoe/deductions/o3", ""), 404, "unknown_deduction")

	s.want(s.send("POST", "/v1/skus/shoe/restock", `{"ref":"van","quantity":3,"reason":"delivery"}`), 201,
		`{"ref":"van","quantity":3,"reason":"delivery"}`)
	s.want(s.send("POST", "/v1/skus/shoe/restock", `{"ref":"van","quantity":3,"reason":"delivery"}`), 200, "")
	s.wantProblem(s.send("POST", "/v1/skus/shoe/restock", `{"ref":"van","quantity":2,"reason":"delivery"}`), 422, "ref_reused")
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o3","quantity":1}`), 201, "")
	a := s.send("GET", "/v1/skus/shoe", "")
	if !strings.HasPrefix(a.body, `{"sku":"shoe","stock":8,"available":2,"reserved":0,"committed":6,"segments":[`) {
		t.Errorf("got %s", a.body)
	}
}

func TestDefaultsAndName(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.send("PUT", "/v1/skus/a", `{"stock":0,"name":"Größe M"}`)
	s.want(a, 201, "")
	if strings.Count(a.body, `"segment":`) != 10 || !strings.Contains(a.body, `"name":"Größe M"`) {
		t.Errorf("got %s", a.body)
	}
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 409, "sold_out")
}

func TestUnknownSKU(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.wantProblem(s.send("GET", "/v1/skus/none", ""), 404, "unknown_sku")
	s.wantProblem(s.send("POST", "/v1/skus/none/deductions", `{"order_id":"o","quantity":1}`), 404, "unknown_sku")
	s.wantProblem(s.send("GET", "/v1/skus/none/deductions/o", ""), 404, "unknown_sku")
	s.wantProblem(s.send("POST", "/v1/skus/none/restock", `{"ref":"r","quantity":1}`), 404, "unknown_sku")
}

func TestOneRequestFiftyTimes(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	answers := make([]answer, 50)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = s.send("POST", "/v1/skus/a/deductions", `{"order_id":"same","quantity":2}`) })
	}
	wg.Wait()
	created := 0
	for _, a := range answers {
		if a.body != answers[0].body || (a.status != 200 && a.status != 201) {
			t.Errorf("got %d %s, and once %s", a.status, a.body, answers[0].body)
		}
		if a.status == 201 {
			created++
		}
	}
	if created != 1 {
		t.Errorf("201 came %d times", created)
	}
	if a := s.send("GET", "/v1/skus/a", ""); !strings.Contains(a.body, `"available":98,`) {
		t.Errorf("got %s", a.body)
	}
}

func TestOrderIDsThatNeedEscaping(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	for _, id := range []string{"a/b", "a b", "ü😀", "a%2Fb", "?x=1", "..", "a+b"} {
		body := `{"order_id":"` + id + `","quantity":1}`
		s.want(s.send("POST", "/v1/skus/a/deductions", body), 201, "")
		a := s.send("GET", "/v1/skus/a/deductions/"+url.PathEscape(id), "")
		if a.status != 200 || !strings.Contains(a.body, `"order_id":"`+id+`"`) {
			t.Errorf("order id %q came back as %d %s", id, a.status, a.body)
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	long := strings.Repeat("x", 129)
	for _, c := range []struct {
		path, body, field string
		says              string
	}{
		{"deductions", `{"order_id":"o","quantity":0}`, "quantity", "1 to 1000000"},
		{"deductions", `{"order_id":"o","quantity":-1}`, "quantity", "1 to 1000000"},
		{"deductions", `{"order_id":"o","quantity":1000001}`, "quantity", "1 to 1000000"},
		{"deductions", `{"order_id":"o","quantity":2147483648}`, "quantity", "1 to 1000000"},
		{"deductions", `{"order_id":"o","quantity":9223372036854775808}`, "quantity", "1 to 1000000"},
		{"deductions", `{"order_id":"o","quantity":1.5}`, "quantity", "whole number"},
		{"deductions", `{"order_id":"o","quantity":1e3}`, "quantity", "whole number"},
		{"deductions", `{"order_id":"o","quantity":"1"}`, "quantity", "whole number"},
		{"deductions", `{"order_id":"o","quantity":null}`, "quantity", "whole number"},
		{"deductions", `{"order_id":"o","quantity":true}`, "quantity", "whole number"},
		{"deductions", `{"order_id":"o","quantity":[1]}`, "quantity", "whole number"},
		{"deductions", `{"order_id":"o"}`, "quantity", "required"},
		{"deductions", `{"quantity":1}`, "order_id", "required"},
		{"deductions", `{"order_id":null,"quantity":1}`, "order_id", "string"},
		{"deductions", `{"order_id":7,"quantity":1}`, "order_id", "string"},
		{"deductions", `{"order_id":"","quantity":1}`, "order_id", "1 to 128 bytes"},
		{"deductions", `{"order_id":"` + long + `","quantity":1}`, "order_id", "1 to 128 bytes"},
		{"deductions", `{"order_id":"a\u0000b","quantity":1}`, "order_id", "control"},
		{"deductions", `{"order_id":"a\nb","quantity":1}`, "order_id", "control"},
		{"deductions", "{\"order_id\":\"\xff\",\"quantity\":1}", "order_id", "JSON"},
		{"deductions", `{"order_id":"o","buyer_id":"","quantity":1}`, "buyer_id", "empty"},
		{"deductions", `{"order_id":"o","buyer_id":null,"quantity":1}`, "buyer_id", "string"},
		{"deductions", `{"order_id":"o","quantity":1,"quantity":2}`, "quantity", "twice"},
		{"deductions", `{"order_id":"o","quantity":1,"price":2}`, "price", "not a field"},
		{"deductions", `{"order_id":"o","quantity":1,"fence":2}`, "fence", "not a field"},
		{"deductions", `{"order_id":"o","quantity":1,"reserve_for":"15m"}`, "reserve_for", "not a field"},
		{"deductions", `{"order_id":"o","quantity":1,"Quantity":1}`, "Quantity", "not a field"},
		{"deductions", `{"order_id":"o","quantity":1} {}`, "body", "JSON"},
		{"deductions", `{"order_id":"o","quantity":1`, "body", "JSON"},
		{"deductions", `[]`, "body", "JSON object"},
		{"deductions", `"x"`, "body", "JSON object"},
		{"deductions", `null`, "order_id", "required"},
		{"restock", `{"ref":"r","quantity":0}`, "quantity", "1 to 1000000"},
		{"restock", `{"quantity":1}`, "ref", "required"},
		{"restock", `{"ref":"r","quantity":1,"reason":7}`, "reason", "string"},
		{"restock", `{"ref":"r","quantity":1,"reason":"` + strings.Repeat("x", 501) + `"}`, "reason", "500"},
	} {
		s.wantProblem(s.send("POST", "/v1/skus/a/"+c.path, c.body), 400, "invalid_request", `"field":"`+c.field+`"`, c.says)
	}
	for _, c := range []struct{ body, field string }{
		{`{}`, "stock"},
		{`{"stock":-1}`, "stock"},
		{`{"stock":1000000001}`, "stock"},
		{`{"stock":1,"segments":0}`, "segments"},
		{`{"stock":1,"segments":1025}`, "segments"},
		{`{"stock":1,"segments":9223372036854775808}`, "segments"},
		{`{"stock":1,"per_buyer_limit":1}`, "per_buyer_limit"},
		{`{"stock":1,"sale_starts_at":"2026-01-01T00:00:00Z"}`, "sale_starts_at"},
		{`{"stock":1,"name":"a\u0007"}`, "name"},
	} {
		s.wantProblem(s.send("PUT", "/v1/skus/b", c.body), 400, "invalid_request", `"field":"`+c.field+`"`)
	}
	if a := s.send("GET", "/v1/skus/a", ""); !strings.Contains(a.body, `"available":100,`) {
		t.Errorf("bad input sold something: %s", a.body)
	}
}

func TestBadPaths(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, sku := range []string{"a%20b", "%C3%A4", strings.Repeat("x", 65), "a%7Bb%7D", "a%2Fb"} {
		s.wantProblem(s.send("GET", "/v1/skus/"+sku, ""), 400, "invalid_request", `"field":"sku"`)
	}
	s.wantProblem(s.send("GET", "/v1/skus/a/deductions/"+strings.Repeat("x", 129), ""), 400, "invalid_request", `"field":"order_id"`)
	s.wantProblem(s.send("GET", "/v1/skus/a/deductions/a%0Ab", ""), 400, "invalid_request", `"field":"order_id"`)
	s.wantProblem(s.send("DELETE", "/v1/skus/a", ""), 405, "method_not_allowed")
	for _, path := range []string{"/", "/v2", "/v1/skus", "/v1/skus/a/nothing", "/metrics", "/healthz", "/readyz", "/debug/pprof/", "/v1/orders"} {
		s.wantProblem(s.send("GET", path, ""), 404, "not_found")
	}
}

func TestBodyThatIsTooLargeOrNotJSON(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":1}`), 201, "")
	huge := `{"order_id":"` + strings.Repeat("x", 10<<20) + `","quantity":1}`
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", huge), 413, "too_large")
	for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded", "x"} {
		s.wantProblem(s.sendAs(mediaType, "POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 415, "unsupported_media_type")
	}
	s.want(s.sendAs("application/json; charset=utf-8", "POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 201, "")
}

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := s.send("GET", "/openapi.yaml", "")
	if a.status != 200 || !strings.HasPrefix(a.body, "openapi: 3") {
		t.Errorf("got %d %.40s", a.status, a.body)
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":1}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "")
	for path, want := range map[string][]string{
		"/healthz": {"ok"},
		"/readyz":  {`{"database":"ok","redis":"ok"}`},
		"/metrics": {
			`inventory_http_requests_total{code="",route="/v1/skus/:sku/deductions",status="201"} 1`,
			`inventory_http_requests_total{code="sold_out",route="/v1/skus/:sku/deductions",status="409"} 1`,
			`inventory_batch_seconds_count{locked="true"} 1`, `inventory_guard_fired_total 0`, `go_goroutines`,
		},
		"/debug/pprof/": {"goroutine"},
	} {
		body := s.admin(path)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s does not say %s", path, text)
			}
		}
	}
}

func (s *site) admin(path string) string {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.app.AdminURL()+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.Errorf("%s: %d %v", path, response.StatusCode, err)
	}
	return string(body)
}
