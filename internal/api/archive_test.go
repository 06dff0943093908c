package api_test

import (
	"strings"
	"testing"
)

func TestAnArchivedSKUSellsNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":1}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":5}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":2,"reserve_for":"1h"}`), 201, "")
	for range 2 {
		a := s.send("DELETE", "/v1/skus/a", "")
		s.want(a, 200, "")
		if !strings.Contains(a.body, `"archived_at":"`) || !strings.Contains(a.body, `"available":3,"reserved":2,"committed":5`) {
			t.Errorf("archived: %s", a.body)
		}
	}
	for _, path := range []string{"/v1/skus/a", "/v1/skus"} {
		if a := s.send("GET", path, ""); !strings.Contains(a.body, `"archived_at":"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"q","quantity":1}`), 410, "sku_archived", `"sku":"a"`)
	s.wantProblem(s.send("POST", "/v1/orders", `{"order_id":"q","lines":[{"sku":"a","quantity":1}]}`), 410, "sku_archived", `"sku":"a"`)
	s.wantProblem(s.send("POST", "/v1/skus/a/restock", `{"ref":"r","quantity":1}`), 410, "sku_archived")
	s.wantProblem(s.send("POST", "/v1/skus/a/adjust", `{"ref":"r","quantity":-1,"reason":"lost"}`), 410, "sku_archived")
	s.wantProblem(s.send("POST", "/v1/skus/a/resegment", `{"ref":"r","segments":2}`), 410, "sku_archived")
	s.wantProblem(s.send("PATCH", "/v1/skus/a", `{"ref":"r","name":"b"}`), 410, "sku_archived")
	s.wantProblem(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":1}`), 409, "sku_exists", "is archived")
	many := s.send("POST", "/v1/deductions", `{"deductions":[{"sku":"a","order_id":"o","quantity":5},{"sku":"a","order_id":"q","quantity":1}]}`)
	if !strings.Contains(many.body, `{"results":[{"status":200,`) || !strings.Contains(many.body, `{"status":410,`) {
		t.Errorf("many: %s", many.body)
	}
	s.want(s.send("POST", "/v1/skus/a/deductions/p/commit", `{"quantity":1}`), 200, "")
	s.want(s.send("POST", "/v1/skus/a/deductions/o/return", ""), 200, "")
	s.want(s.send("GET", "/v1/skus/a/deductions/o", ""), 200, "")
	s.want(s.send("GET", "/v1/skus/a/audit", ""), 200, "")
	s.wantUnits("a", `"stock":10,"available":9,"reserved":0,"committed":1`)
	s.wantProblem(s.send("DELETE", "/v1/skus/none", ""), 404, "unknown_sku")
	s.wantProblem(s.send("DELETE", "/v1/skus/a?x=1", ""), 400, "invalid_request")
	want := `"refused":3,"failed":0`
	if s.sentAgain.Load() {
		want = `"refused":3,`
	}
	if activity := s.send("GET", "/v1/activity", ""); !strings.Contains(activity.body, want) {
		t.Errorf("activity: %s", activity.body)
	}
}
