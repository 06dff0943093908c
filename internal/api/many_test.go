package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock"
)

const many = "/v1/deductions"

// bulk returns a body with many deductions.
func bulk(deductions ...string) string {
	return `{"deductions":[` + strings.Join(deductions, ",") + `]}`
}

// wantResults checks the statuses of the results of many deductions, and returns them.
func (s *site) wantResults(a answer, statuses ...int) []client.DeductionResult {
	s.t.Helper()
	var body client.DeductionResults
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != 200 {
		s.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	var got []int
	for _, r := range body.Results {
		got = append(got, r.Status)
		switch ok := r.Status < 300; {
		case ok != (r.Deduction != nil) || ok == (r.Problem != nil), !ok && r.Problem.Status != r.Status:
			s.t.Errorf("%+v", r)
		}
	}
	if !slices.EqualFunc(got, statuses, a.is) {
		s.t.Errorf("got %v, want %v: %s", got, statuses, a.body)
	}
	return body.Results
}

func TestManyDeductions(t *testing.T) {
	eachStore(t, func(t *testing.T, config app.Config) {
		s := openWith(t, config)
		body := bulk(
			`{"sku":"a","order_id":"o1","buyer_id":"ann","quantity":4}`, `{"sku":"b","order_id":"o1","buyer_id":"ann","quantity":2,"reserve_for":"15m"}`,
			`{"sku":"a","order_id":"o1","buyer_id":"ann","quantity":4}`, `{"sku":"a","order_id":"o1","quantity":4}`,
			`{"sku":"b","order_id":"o2","buyer_id":"ann","quantity":1}`, `{"sku":"b","order_id":"o3","quantity":1}`,
			`{"sku":"b","order_id":"o4","buyer_id":"bob","quantity":4}`, `{"sku":"c","order_id":"o1","quantity":1}`,
			`{"sku":"d","order_id":"o1","quantity":1}`, `{"sku":"none","order_id":"o1","quantity":1}`, `{"sku":"a","order_id":"o5","quantity":2}`,
			`{"sku":"b","order_id":"o6","buyer_id":"eve","quantity":1,"reserve_for":"700h"}`,
		)
		// An order for which the service had no time would come after the others if it was sent again. So all are sent to other SKUs.
		var on *strings.Replacer
		var results []client.DeductionResult
		tries := 0
		busytest.Soon(t, "the service has had the time for all orders", func() bool {
			tries++
			on = strings.NewReplacer("/skus/", fmt.Sprintf("/skus/%d-", tries), `"sku":"`, fmt.Sprintf(`"sku":"%d-`, tries))
			for sku, terms := range map[string]string{
				"a": `{"stock":5,"segments":1}`, "b": `{"stock":9,"per_buyer_limit":2,"max_quantity":3}`, "c": `{"stock":0}`,
				"d": `{"stock":9,"sale_starts_at":"2999-01-01T00:00:00Z"}`,
			} {
				s.want(s.send("PUT", on.Replace("/v1/skus/"+sku), terms), 201, "")
			}
			a, late := s.post(many, on.Replace(body))
			if !late {
				results = s.wantResults(a, 201, 201, 200, 422, 409, 400, 400, 409, 409, 404, 409, 400)
			}
			return !late
		})
		for i, code := range map[int]client.Code{
			3: client.OrderIDReused, 4: client.BuyerLimit, 5: client.InvalidRequest, 6: client.InvalidRequest, 7: client.SoldOut,
			8: client.SaleClosed, 9: client.UnknownSku, 10: client.InsufficientStock, 11: client.InvalidRequest,
		} {
			if results[i].Problem.Code != code {
				t.Errorf("result %d: %+v", i, results[i].Problem)
			}
		}
		if p := results[6].Problem; *p.Field != "quantity" || !strings.HasPrefix(p.Detail, "quantity must be 1 to 3") { // as in a request of one
			t.Errorf("got %+v", p)
		}
		if d := results[1].Deduction; d.Sku != fmt.Sprint(tries, "-b") || d.OrderID != "o1" || *d.BuyerID != "ann" || d.Quantity != 2 || d.Status != client.Reserved || d.ExpiresAt == nil {
			t.Errorf("got %+v", d)
		}
		s.wantResults(s.send("POST", many, on.Replace(body)), 200, 200, 200, 422, 409, 400, 400, 409, 409, 404, 409, 400)
		s.want(s.send("POST", on.Replace("/v1/skus/a/deductions"), `{"order_id":"o1","buyer_id":"ann","quantity":4}`), 200, "")
		s.wantUnits(fmt.Sprint(tries, "-a"), `"available":1,"reserved":0,"committed":4`)
		s.wantUnits(fmt.Sprint(tries, "-b"), `"available":7,"reserved":2,"committed":0`)
		s.want(s.send("GET", "/v1/audit", ""), 200, "")
	})
}

// The largest allowed request fits, also with the longest ids.
func TestThousandDeductions(t *testing.T) {
	busytest.Slow(t)
	eachStore(t, func(t *testing.T, config app.Config) {
		s := openWith(t, config)
		sku := strings.Repeat("s", 64)
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":990,"max_reserve_for":"720h"}`), 201, "")
		all := make([]string, stock.MaxOrders)
		for i := range all {
			all[i] = fmt.Sprintf(`{"sku":%q,"order_id":"%0128d","buyer_id":"%0128d","quantity":1,"reserve_for":"719h59m59.999999s"}`, sku, i, i)
		}
		s.wantCounts(s.send("POST", many, bulk(all...)), map[int]int{201: 990, 409: 10})
		s.wantCounts(s.send("POST", many, bulk(all...)), map[int]int{200: 990, 409: 10})
		s.wantUnits(sku, `"available":0,"reserved":990`)
		for i := range all {
			all[i] = `{"sku":"` + sku + `","order_id":"same","quantity":1}`
		}
		s.wantCounts(s.send("POST", many, bulk(all...)), map[int]int{409: 1000})
		s.want(s.send("POST", "/v1/skus/"+sku+"/restock", `{"ref":"r","quantity":9}`), 201, "")
		s.wantCounts(s.send("POST", many, bulk(all...)), map[int]int{201: 1, 200: 999})
		all[7] = strings.Replace(all[7], "same", `s\u0061me`, 1) // read by the general decoder
		s.wantCounts(s.send("POST", many, bulk(all...)), map[int]int{200: 1000})
	})
}

func (s *site) wantCounts(a answer, want map[int]int) {
	s.t.Helper()
	var body client.DeductionResults
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != 200 {
		s.t.Fatalf("%d %.300s: %v", a.status, a.body, err)
	}
	got := make(map[int]int)
	for _, r := range body.Results {
		got[r.Status]++
	}
	if a.again { // an earlier try may have written some of them
		want = maps.Clone(want)
		for _, counts := range []map[int]int{got, want} {
			counts[http.StatusOK] += counts[http.StatusCreated]
			delete(counts, http.StatusCreated)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("got %v, want %v", got, want)
	}
}

// TestBadManyDeductions: what cannot be read as a list of orders takes nothing.
func TestBadManyDeductions(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	const good = `{"sku":"a","order_id":"good","quantity":1}`
	s.refuses("POST", many, badBodies(), []bad{
		{`{}`, "deductions", "required"},
		{`{"deductions":null}`, "deductions", "array"},
		{`{"deductions":[]}`, "deductions", "1 to 1000"},
		{`{"deductions":{}}`, "deductions", "array"},
		{`{"deductions":[` + good + `],"deductions":[` + good + `]}`, "deductions", "twice"},
		{`{"deductions":[` + good + `],"order_id":"o"}`, "order_id", "not a field"},
		{bulk(slices.Repeat([]string{good}, stock.MaxOrders+1)...), "deductions", "1 to 1000"},
	})
	// Not over the network: net/http would close the connection with some of the body unread, and the answer might be lost.
	large := serve(t, newHandler(t, nil), "POST", many, bulk(good)+strings.Repeat(" ", 512<<10))
	s.wantProblem(recorded(large), 413, "too_large", "524288")
	s.wantProblem(s.sendAs("text/plain", "POST", many, bulk(good)), 415, "unsupported_media_type")
	s.wantProblem(s.send("GET", many, ""), 405, "method_not_allowed")
	s.wantUnits("a", `"available":100,"reserved":0,"committed":0`)
}

// TestAWrongValueIsTheProblemOfItsOwnResult, as if the order had been sent alone: the others are decided.
func TestAWrongValueIsTheProblemOfItsOwnResult(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":1000}`), 201, "")
	in := func(member string) (before, after string) { return `{"sku":"a",` + member, `}` }
	quantity, end := in(`"order_id":"o","quantity":`)
	orderID, _ := in(`"quantity":1,"order_id":`)
	buyerID, _ := in(`"quantity":1,"order_id":"o","buyer_id":`)
	reserveFor, _ := in(`"quantity":1,"order_id":"o","reserve_for":`)
	for n, b := range slices.Concat(
		badNumbers("quantity", quantity, end), badTexts("order_id", orderID, end), badTexts("buyer_id", buyerID, end),
		badDurations("reserve_for", reserveFor, end), []bad{
			{`7`, "body", "JSON object"},
			{`null`, "body", "JSON object"},
			{`{}`, "sku", "required"},
			{`{"sku":"a","quantity":1}`, "order_id", "required"},
			{`{"sku":"a","order_id":"o"}`, "quantity", "required"},
			{`{"sku":"..","order_id":"o","quantity":1}`, "sku", "must not be"},
			{`{"sku":"a","order_id":"a/..","quantity":1}`, "order_id", "order_id"},
			{`{"sku":"a","order_id":"o","quantity":1,"price":1}`, "price", "not a field"},
			{`{"sku":"a","sku":"a","order_id":"o","quantity":1}`, "sku", "twice"},
		},
	) {
		good := fmt.Sprintf(`{"sku":"a","order_id":"good %d","quantity":1}`, n)
		if !jsontext.Value(b.body).IsValid() {
			continue // then the list cannot be read
		}
		results := s.wantResults(s.send("POST", many, bulk(good, b.body)), 201, 400)
		if p := results[1].Problem; p == nil || p.Field == nil || *p.Field != b.field || !strings.Contains(p.Detail, b.says) {
			t.Errorf("%s: got %+v, want a problem of %s that says %s", b.body, p, b.field, b.says)
		}
	}
}

// The document's example succeeds.
func TestExampleOfManyDeductions(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/sneaker-42", `{"stock":100}`), 201, "")
	body := document(t).Paths.Value(many).Post.RequestBody.Value.Content["application/json"].Example
	s.wantResults(s.send("POST", many, string(encoded(t, body))), 201, 201)
}

func TestManyDeductionsOfTokens(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":1000}`), 201, "")
	body := bulk(
		`{"sku":"shoe","order_id":"1","quantity":1}`, `{"sku":"shoe","order_id":"2","buyer_id":"ann","quantity":1}`,
		`{"sku":"shoe","order_id":"3","buyer_id":"bob","quantity":1}`, `{"sku":"shoe","order_id":"4","quantity":11}`,
		`{"sku":"shoe","order_id":"5","quantity":1,"reserve_for":"700h"}`, `{"sku":"shoe","order_id":"1","buyer_id":"ann","quantity":1}`,
	)
	results := d.wantResults(d.as(ann, "POST", many, body), 201, 201, 403, 400, 400, 200)
	if p := results[2].Problem; p.Code != client.Forbidden || !strings.Contains(p.Detail, "subject of the token") {
		t.Errorf("got %+v", p)
	}
	if b := results[0].Deduction.BuyerID; b == nil || *b != "ann" {
		t.Errorf("got %+v", results[0].Deduction)
	}
	d.wantResults(d.as(bob, "POST", many, body), 201, 403, 201, 400, 400, 403) // its own ids
	d.wantResults(d.as(shop, "POST", many, body), 201, 201, 201, 201, 400, 422)
	d.want(d.as(shop, "GET", "/v1/skus/shoe/deductions/1?buyer_id=ann", ""), 200, "")
	// An order that the shop has placed for a buyer belongs to the buyer too.
	d.wantResults(d.as(shop, "POST", many, bulk(`{"sku":"shoe","order_id":"s","buyer_id":"bob","quantity":1}`)), 201)
	d.wantResults(d.as(bob, "POST", many, bulk(`{"sku":"shoe","order_id":"s","quantity":1}`)), 200)

	basket := make([]string, 101)
	for i := range basket {
		basket[i] = fmt.Sprintf(`{"sku":"shoe","order_id":"b%d","quantity":1}`, i)
	}
	d.wantProblem(d.as(ann, "POST", many, bulk(basket...)), 400, "invalid_request", `"field":"deductions"`, "1 to 100")
	d.wantCounts(d.as(ann, "POST", many, bulk(basket[:100]...)), map[int]int{201: 100})
	d.wantProblem(d.as(ann, "POST", many, bulk(basket...)+strings.Repeat(" ", 16<<10)), 413, "too_large", "16384")
}

// Each order counts. Each order beyond the limit is refused separately.
func TestLimitsCountOrders(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{RateLimit: 0.001, RateBurst: 3})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	five := bulk(slices.Repeat([]string{`{"sku":"shoe","order_id":"o","quantity":1}`}, 5)...)
	for _, caller := range []string{shop, ann} {
		a := d.as(caller, "POST", many, five)
		results := d.wantResults(a, 201, 200, 200, 429, 429)
		if results[3].Problem.Code != client.RateLimited || !regexp.MustCompile(`^(9\d\d|1000)$`).MatchString(a.header.Get("Retry-After")) {
			t.Errorf("Retry-After %s, %+v", a.header.Get("Retry-After"), results[3].Problem)
		}
		d.wantLimit(a, 0)
		d.wantProblem(d.as(caller, "POST", many, five), 429, "rate_limited")
	}
	d.wantProblem(d.as(bob, "POST", many, `{}`), 400, "invalid_request") // one request
	d.wantLimit(d.as(bob, "POST", many, bulk(`{"sku":"shoe","order_id":"o","quantity":1}`)), 1)

	open := openWith(t, app.Config{RateLimit: 0.001, RateBurst: 4})
	open.want(open.send("PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	open.wantResults(open.send("POST", many, five), 201, 200, 200, 429, 429)
}

func TestMetricsCountOrders(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":2}`), 201, "")
	s.wantCounts(s.send("POST", many, bulk(
		`{"sku":"a","order_id":"1","quantity":1}`, `{"sku":"a","order_id":"2","quantity":1}`, `{"sku":"a","order_id":"1","quantity":1}`,
		`{"sku":"none","order_id":"1","quantity":1}`)), map[int]int{201: 2, 200: 1, 404: 1})
	s.wantProblem(s.send("POST", many, `{}`), 400, "invalid_request")
	metrics := s.admin("/metrics")
	for _, line := range []string{
		`inventory_http_requests_total{code="",route="/v1/deductions",status="201"} 2`,
		`inventory_http_requests_total{code="",route="/v1/deductions",status="200"} 1`,
		`inventory_http_requests_total{code="unknown_sku",route="/v1/deductions",status="404"} 1`,
		`inventory_http_requests_total{code="invalid_request",route="/v1/deductions",status="400"} 1`,
		`inventory_http_order_seconds_count{outcome="accepted"} 2`,
		`inventory_http_order_seconds_count{outcome="known"} 1`,
		`inventory_http_order_seconds_count{outcome="invalid"} 2`,
		`inventory_http_request_seconds_count{route="/v1/deductions"} 2`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics do not say %s", line)
		}
	}
}

// A failure is answered for each order, and logged once.
func TestUnavailableManyDeductions(t *testing.T) {
	t.Parallel()
	handler, registry, log := watched(t, brokenStore{err: errors.New(canary)})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, post(t, many, bulk(`{"sku":"a","order_id":"1","quantity":1}`, `{"sku":"b","order_id":"1","quantity":1}`, `{"sku":"a","order_id":"2","quantity":1}`)))
	if w.Code != 200 || w.Header().Get("Retry-After") == "" || strings.Count(w.Body.String(), `"code":"unavailable"`) != 3 || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("got %d %v %s, want 200 with Retry-After and three times the code unavailable", w.Code, w.Header(), w.Body)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "orders=3") || !strings.Contains(log.String(), "canary") {
		t.Errorf("log: %s", log.String())
	}
	if metrics := scraped(t, registry); !strings.Contains(metrics, `{code="unavailable",route="/v1/deductions",status="503"} 3`) {
		t.Error(metrics)
	}
}

// Nothing is written for any order after the deadline of the request, or for a caller that has gone.
func TestDeadlineOfManyDeductions(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":100}`), 201, "")
	body := bulk(`{"sku":"a","order_id":"1","quantity":1}`, `{"sku":"a","order_id":"2","quantity":1}`)
	header := http.Header{"Content-Type": {"application/json"}, "Request-Deadline": {time.Now().Add(5 * time.Millisecond).Format(time.RFC3339Nano)}}
	if a := s.sendWith(header, "POST", many, body); a.status == 200 { // too little time is left for a write
		s.wantCounts(a, map[int]int{503: 2})
	} else {
		s.wantProblem(a, 408, "request_timeout")
	}
	s.wantUnits("a", `"available":100,"reserved":0,"committed":0`)
	s.wantResults(s.send("POST", many, body), 201, 201)
}

// TestManyAsAlone sends random orders in requests of random sizes to SKUs of several kinds, and the same orders in requests
// of one to other SKUs of these kinds: every order has the same result. The SKUs have one segment and the orders one unit,
// so that it does not matter that many orders are decided together.
func TestManyAsAlone(t *testing.T) {
	eachStore(t, func(t *testing.T, config app.Config) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is to be played again
		s := openWith(t, config)
		for round := range 6 {
			tries := 0
			busytest.Soon(t, "the service has had the time for all orders of a round", func() bool {
				tries++
				return s.manyAsAlone(random, fmt.Sprint(round, "-", tries, "-"))
			})
		}
		if a := s.send("GET", "/v1/audit", ""); !strings.Contains(a.body, `"ok":true`) {
			t.Error(a.body)
		}
	})
}

// manyAsAlone plays with SKUs of its own. It ends with false if the service ran out of time for an order, because those that come after
// that may be decided in another way.
func (s *site) manyAsAlone(random *rand.Rand, prefix string) bool {
	s.t.Helper()
	many, alone := prefix+"many-", prefix+"alone-"
	kinds := []string{
		`{"stock":1000,"segments":1}`, `{"stock":12,"segments":1}`, `{"stock":0}`, `{"stock":100,"segments":1,"per_buyer_limit":2}`,
		`{"stock":5,"segments":1,"max_quantity":1}`, `{"stock":5,"sale_starts_at":"2999-01-01T00:00:00Z"}`,
	}
	for i, kind := range kinds {
		s.want(s.send("PUT", fmt.Sprint("/v1/skus/", many, i), kind), 201, "")
		s.want(s.send("PUT", fmt.Sprint("/v1/skus/", alone, i), kind), 201, "")
	}
	for range 2 {
		skus, orders := someOrders(random, len(kinds)+1, 3) // the last kind does not exist
		all := make([]string, len(orders))
		for i, order := range orders {
			all[i] = fmt.Sprintf(`{"sku":"%s%d",%s}`, many, skus[i], order)
		}
		a, late := s.post("/v1/deductions", bulk(all...))
		if late {
			return false
		}
		var got client.DeductionResults
		if json.Unmarshal([]byte(a.body), &got) != nil || len(got.Results) != len(all) {
			s.t.Fatalf("got %d %s, want %d results", a.status, a.body, len(all))
		}
		for i, r := range got.Results {
			a, late := s.post(fmt.Sprintf("/v1/skus/%s%d/deductions", alone, skus[i]), "{"+orders[i]+"}")
			if late {
				return false
			}
			body := string(encoded(s.t, r.Deduction))
			if r.Problem != nil {
				body = string(encoded(s.t, r.Problem))
			}
			one, among := s.untimed(strings.ReplaceAll(a.body, alone, many)), s.untimed(body)
			if a.status != r.Status || one != among {
				s.t.Errorf("order %d, %s: alone %d %s, among many %d %s", i, all[i], a.status, one, r.Status, among)
			}
		}
		if s.t.Failed() {
			return true
		}
	}
	for i := range kinds {
		one, among := s.send("GET", fmt.Sprint("/v1/skus/", alone, i), ""), s.send("GET", fmt.Sprint("/v1/skus/", many, i), "")
		if strings.Replace(one.body, alone, many, 1) != among.body {
			s.t.Errorf("alone %s, among many %s", one.body, among.body)
		}
	}
	return true
}

// someOrders returns 1 to 40 orders without their SKU, and of which of so many kinds of SKUs each is. Each id has one buyer, or none: an
// order that waits until another buyer's order of its id is refused may find that its own buyer has used up the limit meanwhile. A buyer
// has several orders only where there is a limit: a buyer's second order may be decided after later ones of others, who then get the last
// units.
func someOrders(random *rand.Rand, kinds, withLimit int) (skus []int, orders []string) {
	for range 1 + random.IntN(40) {
		kind, id := random.IntN(kinds), random.IntN(60)
		order := fmt.Sprintf(`"order_id":"o%d","quantity":1`, id)
		switch {
		case id%8 >= 6:
		case kind == withLimit:
			order += fmt.Sprintf(`,"buyer_id":"b%d"`, id%8)
		default:
			order += fmt.Sprintf(`,"buyer_id":"b%d"`, id)
		}
		if random.IntN(8) == 0 {
			order += `,"reserve_for":"30m"`
		}
		skus, orders = append(skus, kind), append(orders, order)
	}
	return skus, orders
}

// post sends a request once, and reports whether the service ran out of time.
func (s *site) post(path, body string) (a answer, late bool) {
	s.t.Helper()
	return once(func() answer {
		return s.sendOnce(http.Header{"Content-Type": {"application/json"}}, "POST", path, body)
	})
}

// untimed returns a deduction or a problem as a text without its instants.
func (s *site) untimed(body string) string {
	s.t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"expires_at", "created_at", "committed_at"} {
		delete(members, name)
	}
	return fmt.Sprint(members)
}
