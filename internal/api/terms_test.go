package api_test

import (
	"regexp"
	"strings"
	"testing"
)

func TestChangeTerms(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":1,"name":"A","max_quantity":5}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","buyer_id":"ann","quantity":5}`), 201, "")
	change := `{"ref":"r-1","name":"B","sale_ends_at":"2999-01-02T03:04:05Z","per_buyer_limit":2,"max_quantity":null,"max_reserve_for":"PT15M","reason":"why"}`
	told := `{"ref":"r-1","reason":"why","name":"B","sale_ends_at":"2999-01-02T03:04:05Z","per_buyer_limit":2,"max_quantity":null,"max_reserve_for":"15m0s"}`
	counted := func(a answer) answer { // without when the order from before was counted
		t.Helper()
		body := regexp.MustCompile(`,"limit_since":"[^"]+Z"`).ReplaceAllString(a.body, "")
		if body == a.body {
			t.Errorf("it does not say since when the limit holds: %s", body)
		}
		a.body = body
		return a
	}
	s.want(counted(s.send("PATCH", "/v1/skus/a", change)), 201, told)
	s.want(counted(s.send("GET", "/v1/skus/a", "")), 200, `{"sku":"a","name":"B","sale_ends_at":"2999-01-02T03:04:05Z","per_buyer_limit":2,`+
		`"stock":10,"available":5,"reserved":0,"committed":5,"layout":2,"max_reserve_for":"15m0s","segments":[{"segment":0,"available":5}]}`)
	s.want(counted(s.send("PATCH", "/v1/skus/a", strings.Replace(change, "PT15M", "900s", 1))), 200, told)
	for _, other := range []string{
		`{"ref":"r-1","name":"B"}`, strings.Replace(change, "why", "how", 1), strings.Replace(change, `"max_quantity":null,`, "", 1),
	} {
		s.wantProblem(s.send("PATCH", "/v1/skus/a", other), 422, "ref_reused")
	}
	s.wantProblem(s.send("POST", "/v1/skus/a/restock", `{"ref":"r-1","quantity":1}`), 422, "ref_reused")
	// Sold units stay sold; the terms apply to new orders.
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","buyer_id":"ann","quantity":5}`), 200, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","buyer_id":"ann","quantity":1}`), 409, "buyer_limit")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 400, "invalid_request", `"field":"buyer_id"`)
	s.want(s.send("PATCH", "/v1/skus/a", `{"ref":"r-2","name":null,"per_buyer_limit":null,"sale_ends_at":"2000-01-01T00:00:00Z"}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "sale_closed")
	s.want(s.send("PATCH", "/v1/skus/a", `{"ref":"r-3","sale_ends_at":null,"max_reserve_for":null}`), 201, `{"ref":"r-3","sale_ends_at":null,"max_reserve_for":null}`)
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions/o/return", ""), 200, "")
	s.want(s.send("GET", "/v1/skus/a/audit", ""), 200, "")
	ledger := s.send("GET", "/v1/skus/a/movements", "")
	if !strings.Contains(ledger.body, `"kind":"terms","quantity":0,"terms":{"name":"B","sale_ends_at":"2999-01-02T03:04:05Z","per_buyer_limit":2,"max_quantity":null,"max_reserve_for":"15m0s"},"reason":"why","at":`) {
		t.Errorf("ledger: %s", ledger.body)
	}
	s.wantProblem(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":1,"name":"A","max_quantity":5}`), 409, "sku_exists", "other properties")
	s.wantProblem(s.send("PATCH", "/v1/skus/none", change), 404, "unknown_sku")
	for field, body := range map[string]string{
		"ref": `{"name":"C"}`, "body": `{"ref":"x"}`, "name": `{"ref":"x","name":""}`, "per_buyer_limit": `{"ref":"x","per_buyer_limit":0}`,
		"max_quantity": `{"ref":"x","max_quantity":1.5}`, "max_reserve_for": `{"ref":"x","max_reserve_for":"1ms"}`,
		"sale_starts_at": `{"ref":"x","sale_starts_at":"today"}`, "stock": `{"ref":"x","stock":1}`,
		"sale_ends_at": `{"ref":"x","sale_starts_at":"2030-01-01T00:00:00Z","sale_ends_at":"2029-01-01T00:00:00Z"}`,
	} {
		s.wantProblem(s.send("PATCH", "/v1/skus/a", body), 400, "invalid_request", `"field":"`+field+`"`)
	}
}
