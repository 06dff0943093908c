package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// TestALimitNamesTheOrdersThatUseItUp: whoever refuses by a buyer limit says which of the buyer's orders to cancel, and no caller
// learns an order id of another namespace.
func TestALimitNamesTheOrdersThatUseItUp(t *testing.T) {
	eachStore(t, func(t *testing.T, config app.Config) {
		config.Access.TokenRights = access.Rights{May: access.May{Commit: true}}
		d := openDoors(t, config)
		const deductions = "/v1/skus/shoe/deductions"
		d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100,"segments":3,"per_buyer_limit":4}`), 201, "")
		d.want(d.as(operator, "PUT", "/v1/skus/any", `{"stock":100}`), 201, "")
		// The answers do not matter: a busy machine may take longer for one than its reservation lasts.
		d.as(shop, "POST", deductions, `{"order_id":"late","buyer_id":"ann","quantity":2,"reserve_for":"1s"}`)
		d.as(ann, "POST", deductions, `{"order_id":"anns-late","quantity":1,"reserve_for":"1s"}`)
		for _, path := range []string{"/late", "/anns-late?buyer_id=ann"} {
			busytest.Soon(t, path+" has expired", func() bool {
				return strings.Contains(d.as(shop, "GET", deductions+path, "").body, `"status":"expired"`)
			})
		}
		d.want(d.as(shop, "POST", deductions, `{"order_id":"bobs","buyer_id":"bob","quantity":4}`), 201, "")
		d.want(d.as(shop, "POST", deductions, `{"order_id":"returned","buyer_id":"ann","quantity":1}`), 201, "")
		d.want(d.as(shop, "POST", deductions+"/returned/return", ""), 200, "")
		d.want(d.as(shop, "POST", deductions, `{"order_id":"paid","buyer_id":"ann","quantity":1}`), 201, "")
		d.want(d.as(shop, "POST", "/v1/orders", `{"order_id":"basket","buyer_id":"ann","reserve_for":"15m","lines":[{"sku":"any","quantity":1},{"sku":"shoe","quantity":2}]}`), 201, "")
		d.want(d.as(ann, "POST", deductions, `{"order_id":"anns","quantity":1,"reserve_for":"15m"}`), 201, "")

		for caller, want := range map[string]string{shop: `"order_ids":["basket","paid"]`, ann: `"order_ids":["anns"]`} {
			id := strings.ReplaceAll(caller, " ", "-")
			one := `{"order_id":"` + id + `","buyer_id":"ann","quantity":1}`
			d.wantProblem(d.as(caller, "POST", deductions, one), 409, "buyer_limit", want)
			d.wantProblem(d.as(caller, "POST", deductions, `{"order_id":"`+id+`","buyer_id":"ann","quantity":5}`), 409, "buyer_limit", want)
			d.wantProblem(d.as(caller, "POST", "/v1/orders", `{"order_id":"`+id+`","buyer_id":"ann","lines":[{"sku":"any","quantity":1},{"sku":"shoe","quantity":1}]}`),
				409, "buyer_limit", `"sku":"shoe"`, want)
			if a := d.as(caller, "POST", many, bulk(`{"sku":"shoe",`+one[1:], `{"sku":"any",`+one[1:])); a.status != 200 || !strings.Contains(a.body, want) {
				t.Errorf("many of %s: got %d %s, want %s", caller, a.status, a.body, want)
			}
		}
		d.wantProblem(d.as(shop, "POST", deductions+"/late/commit", `{"if_expired":"retake"}`), 409, "not_reserved", `"order_ids":["basket","paid"]`)
		d.wantProblem(d.as(ann, "POST", deductions+"/anns-late/commit", `{"if_expired":"retake"}`), 409, "not_reserved", `"order_ids":["anns"]`)
		if a := d.as(bob, "POST", deductions, `{"order_id":"more","quantity":1}`); a.status != 409 || strings.Contains(a.body, "order_ids") {
			t.Errorf("bob got %d %s, want no order id of the shop's", a.status, a.body)
		}
		d.want(d.as(shop, "POST", "/v1/orders/basket/cancel", ""), 200, "") // what it said to do helps
		d.want(d.as(shop, "POST", deductions+"/late/commit", `{"if_expired":"retake"}`), 200, "")
	})
}

// TestALimitOverSeveralSKUs: a refusal names the group, and the orders of all its SKUs that use its limit up.
func TestALimitOverSeveralSKUs(t *testing.T) {
	eachStore(t, func(t *testing.T, config app.Config) {
		d := openDoors(t, config)
		for _, sku := range []string{"m", "l"} {
			d.want(d.as(operator, "PUT", "/v1/skus/"+sku, `{"stock":9,"per_buyer_limit":2,"limit_group":"shirt"}`), 201, "")
		}
		d.want(d.as(operator, "PUT", "/v1/skus/xl", `{"stock":9}`), 201, "")
		d.want(d.as(shop, "POST", "/v1/skus/m/deductions", `{"order_id":"one","buyer_id":"ann","quantity":1}`), 201, "")
		d.want(d.as(shop, "POST", "/v1/skus/l/deductions", `{"order_id":"two","buyer_id":"ann","quantity":1,"reserve_for":"1s"}`), 201, "")
		d.want(d.as(shop, "POST", "/v1/skus/xl/deductions", `{"order_id":"three","buyer_id":"ann","quantity":1}`), 201, "")
		busytest.Soon(t, "a reservation of another SKU of the group expires, and counts no more", func() bool {
			return d.as(shop, "POST", "/v1/skus/m/deductions", `{"order_id":"four","buyer_id":"ann","quantity":1}`).status < 300
		})
		const named = `"limit_group":"shirt"`
		d.wantProblem(d.as(shop, "POST", "/v1/skus/l/deductions", `{"order_id":"five","buyer_id":"ann","quantity":1}`), 409, "buyer_limit",
			`"sku":"l"`, `"order_ids":["four","one"]`, named)
		basket := `{"order_id":"six","buyer_id":"bob","lines":[{"sku":"m","quantity":1},{"sku":"l","quantity":2}]}`
		d.wantProblem(d.as(shop, "POST", "/v1/orders", basket), 409, "buyer_limit", named)
		d.want(d.as(shop, "POST", "/v1/orders", strings.Replace(basket, `"quantity":2`, `"quantity":1`, 1)), 201, "")
		d.wantProblem(d.as(shop, "POST", "/v1/skus/m/deductions", `{"order_id":"seven","buyer_id":"bob","quantity":1}`), 409, "buyer_limit",
			`"order_ids":["six"]`, named)
		// A SKU that joins takes its orders along.
		for _, wrong := range []string{`{"ref":"w","limit_group":"shirt"}`, `{"ref":"w","limit_group":"a b","per_buyer_limit":1}`, `{"ref":"w","limit_group":""}`} {
			d.wantProblem(d.as(operator, "PATCH", "/v1/skus/xl", wrong), 400, "invalid_request", `"field":"limit_group"`)
		}
		d.want(d.as(operator, "PATCH", "/v1/skus/xl", `{"ref":"joins","limit_group":"shirt","per_buyer_limit":3}`), 201, "")
		busytest.Soon(t, "the earlier order is counted", func() bool {
			return strings.Contains(d.as(operator, "GET", "/v1/skus/xl", "").body, `"limit_since":"`)
		})
		d.wantProblem(d.as(shop, "POST", "/v1/skus/xl/deductions", `{"order_id":"eight","buyer_id":"ann","quantity":1}`), 409, "buyer_limit",
			`"order_ids":["four","one","three"]`, named)
		d.wantProblem(d.as(operator, "PATCH", "/v1/skus/xl", `{"ref":"no limit","per_buyer_limit":null}`), 400, "invalid_request", `"field":"limit_group"`)
		d.want(d.as(operator, "PATCH", "/v1/skus/xl", `{"ref":"leaves","limit_group":null}`), 201, "")
		d.want(d.as(operator, "GET", "/v1/audit", ""), 200, "")
	})
}

// namesReads counts the reads of a buyer's orders.
type namesReads struct {
	stock.Store
	reads atomic.Int64
}

func (r *namesReads) BuyerOrders(ctx context.Context, sku, buyerID string, own bool, limit int) ([]stock.Deduction, error) {
	r.reads.Add(1)
	return r.Store.BuyerOrders(ctx, sku, buyerID, own, limit)
}

// TestManyRefusalsNameTheOrdersOnce: a request with many refusals reads once for each buyer of a SKU.
func TestManyRefusalsNameTheOrdersOnce(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	store := &namesReads{Store: file}
	handler, _, _ := watched(t, store)
	send := func(method, path, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, w.Body)
	}
	for _, sku := range []string{"shoe", "lace"} {
		send(http.MethodPut, "/v1/skus/"+sku, `{"stock":100,"per_buyer_limit":1}`)
		send(http.MethodPost, "/v1/skus/"+sku+"/deductions", `{"order_id":"first","buyer_id":"ann","quantity":1}`)
	}
	var orders []string
	for n := range 20 {
		orders = append(orders, fmt.Sprintf(`{"sku":%q,"order_id":"more-%d","buyer_id":"ann","quantity":1}`, []string{"shoe", "lace"}[n%2], n))
	}
	answer := send(http.MethodPost, many, bulk(orders...))
	if named := strings.Count(answer, `"order_ids":["first"]`); named != len(orders) || store.reads.Load() != 2 {
		t.Errorf("got %d of %d refusals with names after %d reads, want all after 2: %s", named, len(orders), store.reads.Load(), answer)
	}
}
