package api_test

import (
	"strings"
	"testing"
	"time"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/stock/stocktest"
)

// A token may give back what it has reserved. It may not give back what the shop has committed, and may not commit.
func TestTokensGiveBackWhatTheyReserved(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	const deductions = "/v1/skus/shoe/deductions"
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	d.want(d.as(ann, "POST", deductions, `{"order_id":"a1","quantity":1,"reserve_for":"15m"}`), 201, "")
	d.want(d.as(ann, "POST", deductions+"/a1/cancel", ""), 200, `{"sku":"shoe","order_id":"a1","buyer_id":"ann","quantity":1,"status":"cancelled"}`)
	d.want(d.as(ann, "POST", deductions+"/a1/cancel", ""), 200, "")
	d.want(d.as(ann, "POST", deductions, `{"order_id":"a2","quantity":1,"reserve_for":"15m"}`), 201, "")
	d.wantProblem(d.as(ann, "POST", deductions+"/a2/commit", ""), 403, "forbidden", "takes a key")
	d.want(d.as(shop, "POST", deductions+"/a2/commit?buyer_id=ann", ""), 200, "")
	d.wantProblem(d.as(ann, "POST", deductions+"/a2/cancel", ""), 409, "already_committed", `"quantity":1`)
	d.wantProblem(d.as(ann, "POST", deductions+"/a2/return", ""), 403, "forbidden", "takes a key")
	d.want(d.as(ann, "POST", deductions, `{"order_id":"a3","quantity":1}`), 201, "")
	d.wantProblem(d.as(ann, "POST", deductions+"/a3/cancel", ""), 409, "already_committed")
	d.wantProblem(d.as(ann, "POST", deductions+"/a3/return", ""), 403, "forbidden", "takes a key")
	d.wantUnits(`"available":98,"reserved":0,"committed":2`)
	d.want(d.as(shop, "POST", deductions+"/a2/return?buyer_id=ann", ""), 200, "")
	d.wantProblem(d.as(ann, "POST", deductions, `{"order_id":"a2","quantity":1,"reserve_for":"15m"}`), 409, "order_ended", `"order_status":"returned"`)
}

// The same is true of a part. A token that could extend could keep stock from others without paying.
func TestTokensGiveBackPartsAndDoNotExtend(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	const order = "/v1/skus/shoe/deductions/a1"
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"a1","quantity":4,"reserve_for":"15m"}`), 201, "")
	const part, longer = `{"quantity":1,"ref":"r"}`, `{"ref":"s","reserve_for":"30m"}`
	d.wantProblem(d.as(bob, "POST", order+"/cancel", part), 404, "unknown_deduction")
	d.want(d.as(ann, "POST", order+"/cancel", part), 200, "")
	d.wantProblem(d.as(ann, "POST", order+"/extend", longer), 403, "forbidden", "takes a key")
	d.wantProblem(d.as(shop, "POST", order+"/extend", longer), 404, "unknown_deduction") // the order id is ann's own
	d.want(d.as(shop, "POST", order+"/extend?buyer_id=ann", longer), 200, "")
	d.want(d.as(shop, "POST", order+"/commit?buyer_id=ann", ""), 200, "")
	d.want(d.as(ann, "POST", order+"/cancel", part), 200, `{"sku":"shoe","order_id":"a1","buyer_id":"ann","quantity":3,"status":"committed"}`)
	d.wantProblem(d.as(ann, "POST", order+"/cancel", `{"quantity":1,"ref":"t"}`), 409, "already_committed")
	d.wantProblem(d.as(ann, "POST", order+"/return", `{"quantity":1,"ref":"t"}`), 403, "forbidden", "takes a key")
	d.want(d.as(shop, "POST", order+"/return?buyer_id=ann", `{"quantity":1,"ref":"t"}`), 200, "")
	d.wantUnits(`"available":98,"reserved":0,"committed":2`)
}

// A token changes what it has reserved: it exchanges nothing that the shop has committed, and gives its order to nobody.
func TestTokensChangeWhatTheyReserved(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/orders", `{"order_id":"a1","reserve_for":"15m","lines":[{"sku":"shoe","quantity":2}]}`), 201, "")
	const change, two, gives = "/v1/orders/a1/change", `{"ref":"r","lines":[{"sku":"shoe","quantity":1}]}`, `{"ref":"g","buyer_id":"bob","lines":[{"sku":"shoe","quantity":1}]}`
	d.wantProblem(d.as(bob, "POST", change, two), 404, "unknown_order")
	d.wantProblem(d.as(ann, "POST", change, gives), 403, "forbidden", "takes a key")
	d.wantProblem(d.as(shop, "POST", change+"?buyer_id=ann", gives), 400, "invalid_request", "buyer_id")
	d.want(d.as(ann, "POST", change, two), 200, "")
	d.want(d.as(shop, "POST", "/v1/orders/a1/commit?buyer_id=ann", ""), 200, "")
	d.want(d.as(ann, "POST", change, two), 200, "")
	d.wantProblem(d.as(ann, "POST", change, `{"ref":"s","lines":[{"sku":"shoe","quantity":2}]}`), 409, "already_committed", "only the shop")
	d.want(d.as(shop, "POST", change+"?buyer_id=ann", `{"ref":"s","lines":[{"sku":"shoe","quantity":2}]}`), 200, "")
	d.want(d.as(shop, "POST", "/v1/orders", `{"order_id":"held","buyer_id":"list","lines":[{"sku":"shoe","quantity":1}]}`), 201, "")
	const annsNow = `{"order_id":"held","buyer_id":"ann","lines":[{"sku":"shoe","quantity":1,"status":"committed"}]}`
	const held, toAnn = "/v1/orders/held/change?buyer_id=list", `{"ref":"g","buyer_id":"ann","lines":[{"sku":"shoe","quantity":1}]}`
	d.want(d.as(shop, "POST", held, toAnn), 200, annsNow)
	d.want(d.as(shop, "POST", held, toAnn), 200, annsNow) // list has it no more, and the change is a replay
	for who, told := range map[string]bool{shop: true, ann: false} {
		a := d.as(who, "GET", "/v1/orders/held/history", "")
		if d.want(a, 200, ""); !strings.Contains(a.body, `"kind":"handed_over"`) || strings.Contains(a.body, `"buyer_id":"ann"`) != told {
			t.Errorf("got %s", a.body)
		}
	}
	d.wantProblem(d.as(shop, "POST", held, `{"ref":"h","buyer_id":"ann","lines":[{"sku":"shoe","quantity":1}]}`), 404, "unknown_order")
	d.wantUnits(`"available":97,"reserved":0,"committed":3`)
}

// wantUnits checks where the units of the shoe are.
func (d *doors) wantUnits(units string) {
	d.t.Helper()
	if a := d.as(operator, "GET", "/v1/skus/shoe", ""); !strings.Contains(a.body, units) {
		d.t.Errorf("want %s, got %s", units, a.body)
	}
}

func TestTokensMayWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ commit, giveBack int }{
		"commit": {200, 403}, "return": {403, 200}, "commit,return": {200, 200},
	} {
		var rights access.Rights
		if err := rights.May.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		d := openDoors(t, app.Config{Access: access.Config{TokenRights: rights}})
		const deductions = "/v1/skus/shoe/deductions"
		d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
		d.want(d.as(ann, "POST", deductions, `{"order_id":"a1","quantity":1,"reserve_for":"15m"}`), 201, "")
		d.want(d.as(ann, "POST", deductions+"/a1/commit", ""), want.commit, "")
		d.want(d.as(shop, "POST", deductions+"/a1/commit?buyer_id=ann", ""), 200, "")
		d.want(d.as(ann, "POST", deductions+"/a1/return", ""), want.giveBack, "")
	}
}

// One request of a token must not take all units of a sale, or hold them for any time.
func TestTokensTakeAFewUnits(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	const deductions = "/v1/skus/shoe/deductions"
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":20000}`), 201, "")
	d.want(d.as(operator, "PUT", "/v1/skus/nail", `{"stock":20000,"max_quantity":5000}`), 201, "")
	for _, quantity := range []string{"10000", "11"} {
		body := `{"order_id":"q` + quantity + `","quantity":` + quantity + `}`
		d.wantProblem(d.as(ann, "POST", deductions, body), 400, "invalid_request", `"field":"quantity"`, "1 to 10 for SKU")
		order := `{"order_id":"o` + quantity + `","lines":[{"sku":"nail","quantity":11},{"sku":"shoe","quantity":` + quantity + `}]}`
		d.wantProblem(d.as(ann, "POST", "/v1/orders", order), 400, "invalid_request", `1 to 10 for SKU \"shoe\"`)
		d.want(d.as(shop, "POST", deductions, body), 201, "")
	}
	d.want(d.as(ann, "POST", deductions, `{"order_id":"ten","quantity":10}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/nail/deductions", `{"order_id":"nails","quantity":5000}`), 201, "") // its terms say so
	d.want(d.as(ann, "POST", "/v1/orders", `{"order_id":"o","lines":[{"sku":"nail","quantity":11},{"sku":"shoe","quantity":10}]}`), 201, "")
	// An order accepted from a caller with the right is a replay for a caller without it.
	d.want(d.as(shop, "POST", deductions, `{"order_id":"anns","buyer_id":"ann","quantity":12}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/orders", `{"order_id":"anns-lines","buyer_id":"ann","lines":[{"sku":"shoe","quantity":12}]}`), 201, "")
	d.want(d.as(ann, "POST", deductions, `{"order_id":"anns","quantity":12}`), 200, "")
	d.want(d.as(ann, "POST", "/v1/orders", `{"order_id":"anns-lines","lines":[{"sku":"shoe","quantity":12}]}`), 200, "")
}

func TestReservationsAreBounded(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	const deductions = "/v1/skus/shoe/deductions"
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	d.want(d.as(operator, "PUT", "/v1/skus/piano", `{"stock":100,"max_reserve_for":"720h"}`), 201, "")
	for _, caller := range []string{ann, shop} {
		id := strings.ReplaceAll(caller, " ", "-")
		d.want(d.as(caller, "POST", deductions, `{"order_id":"1h`+id+`","quantity":1,"reserve_for":"1h"}`), 201, "")
		long := `{"order_id":"long` + id + `","quantity":1,"reserve_for":"720h"}`
		d.wantProblem(d.as(caller, "POST", deductions, long), 400, "invalid_request", `"field":"reserve_for"`, "1s to 1h0m0s for SKU")
		order := `{"order_id":"order` + id + `","reserve_for":"720h","lines":[{"sku":"piano","quantity":1},{"sku":"shoe","quantity":1}]}`
		d.wantProblem(d.as(caller, "POST", "/v1/orders", order), 400, "invalid_request", `"field":"reserve_for"`, `SKU \"shoe\"`)
		d.want(d.as(caller, "POST", "/v1/skus/piano/deductions", long), 201, "")
	}
}

// After its bound was lowered, a service answers retries of what it accepted before.
func TestASmallerBoundLeavesReplaysAlone(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + stocktest.SQLiteFile(t)
	before := openWith(t, app.Config{DatabaseURL: file, MaxReserveFor: 24 * time.Hour, Lock: app.LockNone})
	const order = `{"order_id":"o","quantity":1,"reserve_for":"24h"}`
	const lines = `{"order_id":"l","reserve_for":"24h","lines":[{"sku":"shoe","quantity":1}]}`
	before.want(before.send("PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	before.want(before.send("POST", "/v1/skus/shoe/deductions", order), 201, "")
	before.want(before.send("POST", "/v1/orders", lines), 201, "")
	closeApp(t, before.app)
	after := openWith(t, app.Config{DatabaseURL: file, Lock: app.LockNone})
	after.want(after.send("POST", "/v1/skus/shoe/deductions", order), 200, "")
	after.want(after.send("POST", "/v1/orders", lines), 200, "")
	next := strings.Replace(order, `"o"`, `"p"`, 1)
	after.wantProblem(after.send("POST", "/v1/skus/shoe/deductions", next), 400, "invalid_request", "1h0m0s")
}
