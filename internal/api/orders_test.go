package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/stock"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 201, "")
	s.want(s.send("PUT", "/v1/skus/b", `{"stock":1}`), 201, "")
	const order = `{"order_id":"o","buyer_id":"ann","lines":[{"sku":"b","quantity":1},{"sku":"a","quantity":9}]}`
	placed := `{"order_id":"o","buyer_id":"ann","lines":[{"sku":"b","quantity":1,"status":"committed"},{"sku":"a","quantity":9,"status":"committed"}]}`
	s.want(s.send("POST", "/v1/orders", order), 201, placed)
	s.want(s.send("POST", "/v1/orders", order), 200, placed)
	for _, other := range []string{
		strings.Replace(order, "ann", "bob", 1), strings.Replace(order, "9", "8", 1), strings.Replace(order, `,{"sku":"a","quantity":9}`, "", 1),
		strings.Replace(order, `"lines"`, `"reserve_for":"1h","lines"`, 1),
	} {
		s.wantProblem(s.send("POST", "/v1/orders", other), 422, "order_id_reused")
	}
	s.want(s.send("POST", "/v1/skus/b/deductions", `{"order_id":"o","buyer_id":"ann","quantity":1}`), 200, "")
	s.wantProblem(s.send("POST", "/v1/skus/b/deductions", `{"order_id":"o","buyer_id":"ann","quantity":2}`), 422, "order_id_reused")
	s.want(s.send("GET", "/v1/skus/b/deductions/o", ""), 200, "")

	s.wantProblem(s.send("POST", "/v1/orders", `{"order_id":"p","lines":[{"sku":"a","quantity":1},{"sku":"b","quantity":1}]}`), 409, "sold_out", `"sku":"b"`)
	s.wantProblem(s.send("POST", "/v1/orders", `{"order_id":"p","lines":[{"sku":"a","quantity":2}]}`), 409, "insufficient_stock", `"sku":"a"`, `"available":1`)
	s.wantProblem(s.send("POST", "/v1/orders", `{"order_id":"p","lines":[{"sku":"a","quantity":1},{"sku":"none","quantity":1}]}`), 404, "unknown_sku")
	s.wantUnits("a", `"available":1,"reserved":0,"committed":9`)

	s.wantProblem(s.send("POST", "/v1/skus/b/deductions/o/cancel", ""), 409, "part_of_order", `"order":"/v1/orders/o"`)
	s.want(s.send("POST", "/v1/skus/b/deductions/o/return", ""), 200, `{"sku":"b","order_id":"o","buyer_id":"ann","quantity":1,"status":"returned"}`)
	s.want(s.send("POST", "/v1/orders", order), 200, strings.Replace(placed, "committed", "returned", 1))
	both := `{"order_id":"o","buyer_id":"ann","lines":[{"sku":"a","quantity":9,"status":"returned"},{"sku":"b","quantity":1,"status":"returned"}]}`
	s.want(s.send("POST", "/v1/orders/o/return", ""), 200, both)
	s.want(s.send("GET", "/v1/orders/o", ""), 200, both)
	s.want(s.send("GET", "/v1/orders/o?buyer_id=ann", ""), 200, both)
	s.wantProblem(s.send("GET", "/v1/orders/o?buyer_id=bob", ""), 404, "unknown_order")
	s.wantProblem(s.send("POST", "/v1/orders/none/cancel", ""), 404, "unknown_order")
	s.wantProblem(s.send("POST", "/v1/orders", order), 409, "order_ended", `"order_status":"returned"`, `"lines":[{"sku":"b"`)
}

// TestRefusedBasketListsAllLines: a buyer who takes one line out is not told of the next one on the next try.
func TestRefusedBasketListsAllLines(t *testing.T) {
	eachStore(t, func(t *testing.T, config app.Config) {
		s := openWith(t, config)
		for sku, body := range map[string]string{
			"few": `{"stock":2,"segments":2}`, "gone": `{"stock":1}`, "many": `{"stock":9}`, "none": `{"stock":0}`,
			"soon": `{"stock":9,"sale_starts_at":"2999-01-01T00:00:00Z"}`,
		} {
			s.want(s.send("PUT", "/v1/skus/"+sku, body), 201, "")
		}
		s.want(s.send("POST", "/v1/skus/gone/deductions", `{"order_id":"other","quantity":1}`), 201, "")
		basket := func(id string, skus ...string) string {
			var lines []string
			for _, sku := range skus {
				lines = append(lines, `{"sku":"`+sku+`","quantity":3}`)
			}
			return `{"order_id":"` + id + `","lines":[` + strings.Join(lines, ",") + `]}`
		}
		few := `{"sku":"few","code":"insufficient_stock","detail":"SKU \"few\" has 2 available, fewer than asked for","available":2}`
		soldOut := func(sku string) string {
			return `{"sku":"` + sku + `","code":"sold_out","detail":"SKU \"` + sku + `\" is sold out"}`
		}
		for range 20 { // the sold-out cache answers from the second one on
			s.wantProblem(s.send("POST", "/v1/orders", basket("o", "none", "few", "many", "gone")), 409, "insufficient_stock",
				`"sku":"few","available":2`, `"lines":[`+few+`,`+soldOut("gone")+`,`+soldOut("none")+`]`)
			s.wantProblem(s.send("POST", "/v1/orders", basket("p", "none", "many", "gone")), 409, "sold_out", `"lines":[`+soldOut("gone")+`,`+soldOut("none")+`]`)
			s.wantProblem(s.send("POST", "/v1/orders", basket("q", "none", "many")), 409, "sold_out", `"sku":"none","lines":[`+soldOut("none")+`]`)
		}
		s.wantProblem(s.send("POST", "/v1/orders", basket("o", "soon", "few")), 409, "sale_closed", `"lines":[`+few+`,{"sku":"soon","code":"sale_closed"`)
		s.want(s.send("POST", "/v1/orders", basket("o", "many")), 201, "")
	})
}

// TestCheckout: an order of two SKUs is reserved, paid and committed as one thing, or given up.
func TestCheckout(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	for _, sku := range []string{"a", "b"} {
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":5,"segments":1}`), 201, "")
	}
	place := func(id string) {
		t.Helper()
		s.want(s.send("POST", "/v1/orders", `{"order_id":"`+id+`","reserve_for":"10m","lines":[{"sku":"a","quantity":2},{"sku":"b","quantity":1}]}`), 201, "")
	}
	answer := func(id, status string) string {
		return `{"order_id":"` + id + `","lines":[{"sku":"a","quantity":2,"status":"` + status + `},{"sku":"b","quantity":1,"status":"` + status + `}]}`
	}
	place("paid")
	s.want(s.send("POST", "/v1/orders/paid/extend", `{"ref":"r","reserve_for":"20m"}`), 200, answer("paid", `reserved","expires_at":"2026-11-27T09:20:00Z"`))
	for range 2 {
		s.want(s.send("POST", "/v1/orders/paid/commit", ""), 200, answer("paid", `committed"`))
	}
	s.wantProblem(s.send("POST", "/v1/orders/paid/cancel", ""), 409, "already_committed", `"lines":[{"sku":"a","code":"already_committed"`, `{"sku":"b","code":"already_committed"`)
	place("late")
	s.wantProblem(s.send("POST", "/v1/orders/late/return", ""), 409, "not_committed")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/late/commit", ""), 409, "part_of_order")
	clock.advance(time.Hour)
	s.wantProblem(s.send("POST", "/v1/orders/late/commit", ""), 409, "not_reserved", `"order_status":"expired"`)
	s.want(s.send("POST", "/v1/orders/late/commit", `{"if_expired":"retake"}`), 200, answer("late", `committed"`))
	s.want(s.send("POST", "/v1/orders/paid/return", `{"restock":false,"reason":"damaged"}`), 200, answer("paid", `returned"`))
	s.want(s.send("PUT", "/v1/skus/c", `{"stock":1,"segments":1}`), 201, "")
	s.want(s.send("POST", "/v1/orders", `{"order_id":"gone","reserve_for":"10m","lines":[{"sku":"a","quantity":1},{"sku":"c","quantity":1}]}`), 201, "")
	for range 2 {
		s.want(s.send("POST", "/v1/orders/gone/cancel", ""), 200, `{"order_id":"gone","lines":[{"sku":"a","quantity":1,"status":"cancelled"},{"sku":"c","quantity":1,"status":"cancelled"}]}`)
	}
	s.wantUnits("a", `"stock":3,"available":1,"reserved":0,"committed":2`)
	if a := s.send("GET", "/v1/audit", ""); !strings.Contains(a.body, `"ok":true`) {
		t.Errorf("got the audit %s, want one that is right", a.body)
	}
}

func TestReservedOrder(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	for _, sku := range []string{"a", "b"} {
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":5}`), 201, "")
	}
	const order = `{"order_id":"o","reserve_for":"10m","lines":[{"sku":"a","quantity":2},{"sku":"b","quantity":3}]}`
	answer := func(a, b string) string {
		return `{"order_id":"o","lines":[{"sku":"a","quantity":2,"status":"` + a + `},{"sku":"b","quantity":3,"status":"` + b + `}]}`
	}
	reserved, expired := `reserved","expires_at":"2026-11-27T09:10:00Z"`, `expired","expires_at":"2026-11-27T09:10:00Z"`
	s.want(s.send("POST", "/v1/orders", order), 201, answer(reserved, reserved))
	s.want(s.send("POST", "/v1/orders", order), 200, answer(reserved, reserved))
	clock.advance(10 * time.Minute)
	s.wantProblem(s.send("POST", "/v1/orders", order), 409, "order_ended", `"order_status":"expired"`)
	s.want(s.send("GET", "/v1/orders/o", ""), 200, answer(expired, expired))
	s.wantUnits("a", `"available":5,"reserved":0,"committed":0`)
	s.wantUnits("b", `"available":5,"reserved":0,"committed":0`)
}

// The largest allowed order fits into a body.
func TestLargestOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	lines := make([]string, stock.MaxLines)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"sku":"%064d","quantity":1000000}`, i)
	}
	id := strings.Repeat("x", 128)
	order := `{"order_id":"` + id + `","buyer_id":"` + id + `","reserve_for":"719h59m59.999999s","lines":[` + strings.Join(lines, ",") + `]}`
	s.wantProblem(s.send("POST", "/v1/orders", order), 404, "unknown_sku")
}

// TestATokensOrderIsABasket: a buyer may order a hundred SKUs at once, and a shop may order a thousand for the buyer.
func TestATokensOrderIsABasket(t *testing.T) {
	t.Parallel()
	var rights access.Rights
	if err := rights.May.UnmarshalText([]byte("commit")); err != nil {
		t.Fatal(err)
	}
	d := openDoors(t, app.Config{Access: access.Config{TokenRights: rights}})
	order := func(lines int) string {
		return `{"order_id":"o","lines":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"none","quantity":1},`, lines), ",") + `]}`
	}
	for who, most := range map[string]int{ann: 100, shop: stock.MaxLines} {
		d.wantProblem(d.as(who, "POST", "/v1/orders", order(most)), 400, "invalid_request", "twice")
		d.wantProblem(d.as(who, "POST", "/v1/orders", order(most+1)), 400, "invalid_request", `"field":"lines"`, fmt.Sprint("1 to ", most))
	}
	for _, path := range []string{"/v1/orders", "/v1/orders/o/change", "/v1/orders/o/commit"} {
		d.wantProblem(d.as(ann, "POST", path, order(stock.MaxLines)), 413, "too_large", "16384")
	}
}

func TestOneOrderFiftyTimes(t *testing.T) {
	t.Parallel()
	s := open(t)
	lines := []string{`{"sku":"a","quantity":2}`, `{"sku":"b","quantity":2}`}
	for _, sku := range []string{"a", "b"} {
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":100}`), 201, "")
	}
	created := make([]bool, 50)
	var wg sync.WaitGroup
	for i := range created {
		wg.Go(func() { // every second one in reverse order
			a := s.send("POST", "/v1/orders", `{"order_id":"same","lines":[`+lines[i%2]+`,`+lines[1-i%2]+`]}`)
			if created[i] = a.status == 201; !created[i] && a.status != 200 {
				t.Errorf("got %d %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	times := 0
	for _, yes := range created {
		if yes {
			times++
		}
	}
	if times != 1 {
		t.Errorf("201 came %d times", times)
	}
	s.wantUnits("a", `"available":98,`)
	s.wantUnits("b", `"available":98,`)
}
