package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"inventory/internal/app"
	"inventory/internal/busytest"
)

func TestMainJob(t *testing.T) {
	t.Parallel()
	s := open(t)
	created := `{"sku":"shoe","stock":5,"available":5,"reserved":0,"committed":0,"layout":1,"segments":[{"segment":0,"available":3},{"segment":1,"available":2}]}`
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
	if !strings.HasPrefix(a.body, `{"sku":"shoe","stock":8,"available":2,"reserved":0,"committed":6,"layout":1,"segments":[`) {
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
	for _, id := range []string{"a/b", "a b", "ü😀", "a%2Fb", "?x=1", "...", "a+b"} {
		body := `{"order_id":"` + id + `","quantity":1}`
		s.want(s.send("POST", "/v1/skus/a/deductions", body), 201, "")
		a := s.send("GET", "/v1/skus/a/deductions/"+url.PathEscape(id), "")
		if a.status != 200 || !strings.Contains(a.body, `"order_id":"`+id+`"`) {
			t.Errorf("order id %q came back as %d %s", id, a.status, a.body)
		}
	}
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
	s := openWith(t, app.Config{Lock: app.LockFair}) // it asks for a lock for every batch
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":1}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "")
	for path, want := range map[string][]string{
		"/healthz": {"ok"},
		"/metrics": {
			`inventory_http_requests_total{code="",route="/v1/skus/:sku/deductions",status="201"} 1`,
			`inventory_http_requests_total{code="sold_out",route="/v1/skus/:sku/deductions",status="409"} 1`,
			`inventory_guard_fired_total 0`, `go_goroutines`,
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
	busytest.Soon(t, "Redis and the locks have answered in time", func() bool {
		_, body := s.askAdmin("/readyz")
		return strings.Contains(body, `{"database":"ok","redis":"ok","locks":"ok"}`)
	})
	s.want(s.send("PUT", "/v1/skus/b", `{"stock":1000000}`), 201, "")
	orders := 0
	busytest.Soon(t, "a batch has got its lock in time", func() bool {
		orders++
		s.want(s.send("POST", "/v1/skus/b/deductions", fmt.Sprintf(`{"order_id":"%d","quantity":1}`, orders)), 201, "")
		return lockedBatch.MatchString(s.admin("/metrics"))
	})
}

var lockedBatch = regexp.MustCompile(`inventory_batch_seconds_count{locked="true"} [1-9]`)

func (s *site) admin(path string) string {
	s.t.Helper()
	status, body := s.askAdmin(path)
	if status != http.StatusOK {
		s.t.Errorf("%s: %d %s", path, status, body)
	}
	return body
}

// askAdmin sends a request to the admin listener.
func (s *site) askAdmin(path string) (status int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.adminURL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
