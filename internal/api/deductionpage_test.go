package api_test

import (
	"encoding/json"
	"testing"

	"inventory/internal/app"
)

func TestDeductionsPageByPage(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":100}`), 201, "")
	d.want(d.as(operator, "GET", "/v1/skus/shoe/deductions", ""), 200, `{"sku":"shoe","deductions":[]}`)
	d.want(d.as(ann, "POST", "/v1/skus/shoe/deductions", `{"order_id":"o-1","quantity":1}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/shoe/deductions", `{"order_id":"o-1","buyer_id":"ann","quantity":2}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/shoe/deductions", `{"order_id":"o-2","quantity":3}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/shoe/deductions/o-2/return", ""), 200, "")
	own := `{"order_id":"o-1","own":true,"buyer_id":"ann","quantity":1,"status":"committed"}`
	first, second := `{"order_id":"o-1","buyer_id":"ann","quantity":2,"status":"committed"}`, `{"order_id":"o-2","quantity":3,"status":"returned"}`
	for query, want := range map[string]string{
		"":                               own + "," + first + "," + second,
		"?buyer_id=ann":                  own + "," + first,
		"?status=returned":               second,
		"?status=reserved":               "",
		"?buyer_id=ann&status=cancelled": "",
	} {
		d.want(d.as(operator, "GET", "/v1/skus/shoe/deductions"+query, ""), 200, `{"sku":"shoe","deductions":[`+want+`]}`)
	}
	read := 0
	for query := "?limit=1"; query != ""; {
		var page struct {
			Deductions []struct{ Quantity int }
			Next       *string
		}
		if got := d.as(operator, "GET", "/v1/skus/shoe/deductions"+query, ""); got.status != 200 || json.Unmarshal([]byte(got.body), &page) != nil {
			t.Fatal(got)
		}
		for _, deduction := range page.Deductions {
			read = 10*read + deduction.Quantity
		}
		if query = ""; page.Next != nil {
			query = "?limit=1&after=" + *page.Next
		}
	}
	if read != 123 {
		t.Errorf("read %d, one after another", read)
	}
	// A token reads its own, a key of the scope buyer what keys have made for one buyer.
	for _, c := range []struct{ caller, query, want string }{
		{ann, "", own},
		{ann, "?buyer_id=ann&limit=1000", own},
		{ann, "?status=reserved", ""},
		{bob, "", ""},
		{shop, "?buyer_id=ann", first},
		{shop, "?buyer_id=bob", ""},
	} {
		d.want(d.as(c.caller, "GET", "/v1/skus/shoe/deductions"+c.query, ""), 200, `{"sku":"shoe","deductions":[`+c.want+`]}`)
	}
	d.wantProblem(d.as(bob, "GET", "/v1/skus/shoe/deductions?buyer_id=ann", ""), 403, "forbidden")
	d.wantProblem(d.as(shop, "GET", "/v1/skus/shoe/deductions", ""), 403, "forbidden", "buyer_id")
	d.wantProblem(d.as(ann, "GET", "/v1/skus/none/deductions", ""), 404, "unknown_sku")
	d.wantProblem(d.as(operator, "GET", "/v1/skus/none/deductions", ""), 404, "unknown_sku")
	for _, query := range []string{"limit=0", "limit=1001", "after=", "after=A", "after=AA", "after=_w", "buyer_id=", "buyer_id=%00", "status=", "status=paid", "sku=a"} {
		d.wantProblem(d.as(operator, "GET", "/v1/skus/shoe/deductions?"+query, ""), 400, "invalid_request")
	}
}
