package api_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"inventory/internal/app"
)

func TestEachCallerIsLimited(t *testing.T) {
	t.Parallel()
	// The bucket gains a request every thousand seconds: none during the test.
	d := openDoors(t, app.Config{RateLimit: 0.001, RateBurst: 3})
	for _, caller := range []string{shop, operator, ann, bob} {
		for left := 2; left >= 0; left-- {
			a := d.as(caller, "GET", "/v1/skus/shoe", "")
			d.wantProblem(a, 404, "unknown_sku")
			d.wantLimit(a, left)
		}
		a := d.as(caller, "GET", "/v1/skus/shoe", "")
		d.wantProblem(a, 429, "rate_limited")
		d.wantLimit(a, 0)
		if after := a.header.Get("Retry-After"); !regexp.MustCompile(`^(9\d\d|1000)$`).MatchString(after) {
			t.Errorf("%s: Retry-After %s", caller, after)
		}
	}
}

func (d *doors) wantLimit(a answer, left int) {
	d.t.Helper()
	policy, limit := a.header.Get("RateLimit-Policy"), a.header.Get("RateLimit")
	want := regexp.MustCompile(`^"default";r=` + string(rune('0'+left)) + `;t=[123]?\d\d\d$`)
	if policy != `"default";q=3;w=3000` || !want.MatchString(limit) {
		d.t.Errorf("%d: RateLimit-Policy %s, RateLimit %s; want %v", a.status, policy, limit, want)
	}
}

// Callers without a credential share the limit of their address.
func TestStrangersAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{RateLimit: 0.001, RateBurst: 3})
	d.wantProblem(d.as(wrongKey, "GET", "/v1/skus/shoe", ""), 401, "unauthenticated")
	d.wantProblem(d.as(nobody, "GET", "/v1/skus/shoe", ""), 401, "unauthenticated")
	d.want(d.as(nobody, "GET", "/openapi.yaml", ""), 200, "")
	d.wantProblem(d.as(expired, "GET", "/v1/skus/shoe", ""), 429, "rate_limited")
	spoofed := http.Header{"X-Forwarded-For": {"192.0.2.1"}}
	d.wantProblem(d.sendWith(spoofed, "GET", "/openapi.yaml", ""), 429, "rate_limited")
	d.wantProblem(d.as(shop, "GET", "/v1/skus/shoe", ""), 404, "unknown_sku") // it has its own limit
}

func TestOpenServiceLimitsAddresses(t *testing.T) {
	t.Parallel()
	s := openWith(t, app.Config{RateLimit: 0.001, RateBurst: 1})
	s.want(s.send("PUT", "/v1/skus/shoe", `{"stock":1}`), 201, "")
	s.wantProblem(s.send("GET", "/v1/skus/shoe", ""), 429, "rate_limited")
}

func TestNobodyIsLimitedByDefault(t *testing.T) {
	t.Parallel()
	a := open(t).send("GET", "/openapi.yaml", "")
	for name := range a.header {
		if strings.HasPrefix(strings.ToLower(name), "ratelimit") {
			t.Errorf("%s: %s", name, a.header.Get(name))
		}
	}
}
