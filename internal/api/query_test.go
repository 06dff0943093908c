package api_test

import (
	"net/http"
	"strings"
	"testing"

	"inventory/internal/api"
	"inventory/internal/app"
	"inventory/internal/busytest"
)

// TestUnknownQueries: no route accepts a parameter that it does not have, or a query that cannot be parsed.
func TestUnknownQueries(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":1000}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"of-ann","quantity":1}`), 201, "")
	all := samples()
	for _, r := range api.Routes() {
		for query, field := range map[string]string{
			"x=1": "x", "x": "x", "a=1&a=2": "a", "SKU=a": "SKU", "x=%zz": "query", "sku=%zz": "query", "a;b": "query", "%zz": "query",
			"%": "query", "sku=a&sku=a": "sku", "limit=1&limit=1": "limit", "%00=1": `\u0000`, "=": "query", "&x": "x",
		} {
			s := all[r.Method+" "+r.Path]
			once := strings.NewReplacer("NEW", "new")
			a := d.as(operator, r.Method, once.Replace(s.path)+"?"+query, once.Replace(s.body))
			d.wantProblem(a, 400, "invalid_request")
			if !strings.Contains(a.body, `"field":"`+field+`"`) {
				t.Errorf("%s %s?%s: %s", r.Method, r.Path, query, a.body)
			}
		}
	}
	for path, status := range map[string]int{"/v1/skus/shoe?": 200, "/v1/skus/none?x=1": 400, "/none?x=1": 404} {
		if a := d.as(operator, "GET", path, ""); a.status != status {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := d.as(nobody, "GET", "/v1/audit?x=1", ""); a.status != http.StatusUnauthorized {
		t.Errorf("a stranger is told of parameters: %d %s", a.status, a.body)
	}
}

// TestHeadWhereGetIs: HEAD has the answer of GET without a body, also for a stream of events, which does not start.
func TestHeadWhereGetIs(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":1000}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"of-ann","quantity":1}`), 201, "")
	all := samples()
	for _, r := range api.Routes() {
		s := all[r.Method+" "+r.Path]
		if r.Method != http.MethodGet {
			continue
		}
		for caller := range d.credentials {
			get, head := d.begin(caller, "GET", s.path, ""), d.begin(caller, "HEAD", s.path, "")
			if head.status != get.status || head.header.Get("Content-Type") != get.header.Get("Content-Type") ||
				head.header.Get("Cache-Control") != get.header.Get("Cache-Control") {
				t.Errorf("HEAD %s as %s: %d %v, and with GET %d %v", s.path, caller, head.status, head.header, get.status, get.header)
			}
			if store := get.header.Get("Cache-Control"); !r.Public && store != "no-store" {
				t.Errorf("GET %s as %s: Cache-Control %q", s.path, caller, store)
			}
		}
	}
	for path, status := range map[string]int{"/v1/events?sku=none": 404, "/v1/events?x=1": 400, "/v1/deductions": 405, "/none": 404} {
		if a := d.begin(operator, "HEAD", path, ""); a.status != status || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("HEAD %s: %d %v", path, a.status, a.header)
		}
	}
	// GET has begun streams, which end when the service notices that their listeners have gone. HEAD begins none.
	busytest.Soon(t, "no stream is left", func() bool { return strings.Contains(d.admin("/metrics"), "inventory_event_listeners 0") })
}
