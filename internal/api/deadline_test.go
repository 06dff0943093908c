package api_test

import (
	"net/http"
	"testing"
	"time"
)

// TestRequestDeadline: nothing is written for any request whose own deadline has passed when it is read.
func TestRequestDeadline(t *testing.T) {
	t.Parallel()
	s := open(t)
	writes := []struct{ method, path, body string }{
		{"PUT", "/v1/skus/a", `{"stock":9}`},
		{"POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1,"reserve_for":"1h"}`},
		{"POST", "/v1/deductions", `{"deductions":[{"sku":"a","order_id":"o","quantity":1,"reserve_for":"1h"}]}`}, // a replay
		{"POST", "/v1/skus/a/deductions/o/extend", `{"ref":"r","reserve_for":"1h"}`},
		{"POST", "/v1/skus/a/deductions/o/commit", ``},
		{"POST", "/v1/skus/a/deductions/o/return", ``},
		{"POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":2}`},
		{"POST", "/v1/skus/a/deductions/p/return", `{"ref":"s","quantity":1}`},
		{"POST", "/v1/skus/a/deductions", `{"order_id":"q","quantity":1,"reserve_for":"1h"}`},
		{"POST", "/v1/skus/a/deductions/q/cancel", ``},
		{"POST", "/v1/orders", `{"order_id":"w","lines":[{"sku":"a","quantity":1}]}`},
		{"POST", "/v1/skus/a/restock", `{"ref":"r","quantity":1}`},
		{"POST", "/v1/skus/a/adjust", `{"ref":"s","quantity":-1,"reason":"count"}`},
		{"POST", "/v1/skus/a/resegment", `{"ref":"t","segments":2}`},
		{"PATCH", "/v1/skus/a", `{"ref":"u","max_quantity":3}`},
		{"DELETE", "/v1/skus/b", ``},
	}
	s.want(s.send("PUT", "/v1/skus/b", `{"stock":1}`), 201, "")
	with := func(method, path, body string, deadline ...string) answer {
		return s.sendWith(http.Header{"Content-Type": {"application/json"}, "Request-Deadline": deadline}, method, path, body)
	}
	in := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
	for _, w := range writes {
		s.wantProblem(with(w.method, w.path, w.body, in(-time.Millisecond)), 408, "request_timeout")
		for _, wrong := range [][]string{{""}, {"soon"}, {"2"}, {"2026-11-27"}, {in(time.Hour), in(time.Hour)}} {
			s.wantProblem(with(w.method, w.path, w.body, wrong...), 400, "invalid_request", `"field":"Request-Deadline"`)
		}
		if a := with(w.method, w.path, w.body, in(time.Hour)); a.status != 200 && a.status != 201 {
			t.Errorf("%s %s in time: %d %s", w.method, w.path, a.status, a.body)
		}
	}
	want := `{"sku":"a","max_quantity":3,"stock":9,"available":7,"reserved":0,"committed":2,"layout":3,"segments":[{"segment":0,"available":4},{"segment":1,"available":3}]}`
	s.want(s.send("GET", "/v1/skus/a", ""), 200, want)
}
