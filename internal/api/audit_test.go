package api_test

import "testing"

func TestAuditShowsTheBalance(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("GET", "/v1/audit", ""), 200, `{"ok":true,"skus":[]}`)
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/v1/skus/a", `{"stock":10,"segments":3,"per_buyer_limit":5}`},
		{"PUT", "/v1/skus/b", `{"stock":7}`},
		{"POST", "/v1/skus/a/deductions", `{"order_id":"o","buyer_id":"ann","quantity":4}`},
		{"POST", "/v1/skus/a/deductions", `{"order_id":"p","buyer_id":"bob","quantity":2,"reserve_for":"1h"}`},
		{"POST", "/v1/skus/a/restock", `{"ref":"r","quantity":6}`},
		{"POST", "/v1/skus/a/adjust", `{"ref":"s","quantity":-1,"reason":"lost"}`},
		{"POST", "/v1/skus/a/resegment", `{"ref":"t","segments":2}`},
		{"POST", "/v1/orders", `{"order_id":"q","buyer_id":"cid","lines":[{"sku":"a","quantity":1},{"sku":"b","quantity":1}]}`},
	} {
		s.want(s.send(r.method, r.path, r.body), 201, "")
	}
	const a = `{"sku":"a","initial":10,"restocked":6,"adjusted":-1,"written_off":0,"available":8,"reserved":2,"committed":5,"difference":0}`
	const b = `{"sku":"b","initial":7,"restocked":0,"adjusted":0,"written_off":0,"available":6,"reserved":0,"committed":1,"difference":0}`
	s.want(s.send("GET", "/v1/audit", ""), 200, `{"ok":true,"skus":[`+a+`,`+b+`]}`)
	s.want(s.send("GET", "/v1/skus/b/audit", ""), 200, `{"ok":true,"skus":[`+b+`]}`)
	s.wantProblem(s.send("GET", "/v1/skus/none/audit", ""), 404, "unknown_sku")
}
