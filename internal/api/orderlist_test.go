package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock/stocktest"
)

// listed returns the URL of an empty database in which orders are listed.
func listed(t *testing.T) string {
	t.Helper()
	url := "sqlite:" + stocktest.SQLiteFile(t)
	if err := app.ListOrders(t.Context(), url, true); err != nil {
		t.Fatal(err)
	}
	return url
}

// orders reads a list page by page, and returns the lines without their times, which it checks.
func (d *doors) orders(caller, query string, limit int) (all []string) {
	d.t.Helper()
	var last time.Time
	for after := ""; ; {
		var page struct {
			Orders []struct {
				SKU                    string
				OrderID                string    `json:"order_id"`
				CreatedAt              time.Time `json:"created_at"`
				CommittedAt            time.Time `json:"committed_at"`
				Status, Order, BuyerID string
				Own                    bool
			}
			Next string
		}
		a := d.as(caller, "GET", fmt.Sprintf("/v1/orders?limit=%d%s%s", limit, query, after), "")
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 || len(page.Orders) > limit {
			d.t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		for _, o := range page.Orders {
			if o.CreatedAt.Before(last) || o.CreatedAt.IsZero() || o.CommittedAt.IsZero() == (o.Status == "committed") {
				d.t.Errorf("the times of %+v, after %s", o, last)
			}
			last = o.CreatedAt
			all = append(all, fmt.Sprint(o.SKU, " ", o.OrderID, " ", o.Status, map[bool]string{true: " own"}[o.Own], strings.TrimPrefix(o.Order, "/v1/orders")))
		}
		if page.Next == "" {
			return all
		}
		after = "&after=" + page.Next
	}
}

// TestOrdersAreListed by buyer, time and status, of one SKU and of several, to those who may see them.
func TestOrdersAreListed(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{DatabaseURL: listed(t)})
	d.want(d.as(operator, "PUT", "/v1/skus/a", `{"stock":9}`), 201, "")
	d.want(d.as(operator, "PUT", "/v1/skus/b", `{"stock":9}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/a/deductions", `{"order_id":"o-1","buyer_id":"ann","quantity":1}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/orders", `{"order_id":"o-2","buyer_id":"bob","reserve_for":"1h","lines":[{"sku":"b","quantity":1},{"sku":"a","quantity":1}]}`), 201, "")
	middle := time.Now()
	d.want(d.as(ann, "POST", "/v1/skus/b/deductions", `{"order_id":"o-1","quantity":1,"reserve_for":"1h"}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/b/deductions", `{"order_id":"o-4","buyer_id":"ann","quantity":1,"reserve_for":"1h"}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/b/deductions/o-4/commit", ""), 200, "")
	all := []string{"a o-1 committed", "a o-2 reserved/o-2", "b o-2 reserved/o-2", "b o-1 reserved own", "b o-4 committed"}
	at := "=" + url.QueryEscape(middle.UTC().Format(time.RFC3339Nano))
	for _, c := range []struct {
		caller, query string
		want          []string
	}{
		{operator, "", all},
		{operator, "&until" + at, all[:3]},
		{operator, "&since" + at, all[3:]},
		{operator, "&status=reserved", all[1:4]},
		{operator, "&buyer_id=ann", []string{all[0], all[3], all[4]}},
		{shop, "&buyer_id=ann", []string{all[0], all[4]}}, // not those of her own ids
		{shop, "&buyer_id=bob&status=reserved&since=2020-01-01T00:00:00Z", all[1:3]},
		{ann, "", all[3:4]},
		{bob, "", nil},
	} {
		for limit := 1; limit <= 6; limit++ {
			if got := d.orders(c.caller, c.query, limit); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s%s in pages of %d: %q, want %q", c.caller, c.query, limit, got, c.want)
			}
		}
	}
	d.wantProblem(d.as(shop, "GET", "/v1/orders", ""), 403, "forbidden")
	for _, query := range []string{"since=yesterday", "until=", "status=sold", "limit=0", "after=", "after=YQ", "buyer_id=", "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z"} {
		d.wantProblem(d.as(operator, "GET", "/v1/orders?"+query, ""), 400, "invalid_request")
	}
}

// TestOrdersAreNotListedWithoutIndexes: the answer says what to do.
func TestOrdersAreNotListedWithoutIndexes(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.wantProblem(s.send("GET", "/v1/orders", ""), 409, "orders_not_listed", "inventory orders on")
}

// TestHistoryOfAnOrder has the entries of all its lines, also of those that it has no more.
func TestHistoryOfAnOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, sku := range []string{"a", "b"} {
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":9}`), 201, "")
	}
	s.want(s.send("POST", "/v1/orders", `{"order_id":"o","buyer_id":"ann","reserve_for":"1h","lines":[{"sku":"b","quantity":1},{"sku":"a","quantity":2}]}`), 201, "")
	s.want(s.send("POST", "/v1/orders/o/change", `{"ref":"r","lines":[{"sku":"a","quantity":2}]}`), 200, "")
	s.want(s.send("POST", "/v1/orders/o/commit", ""), 200, "")
	for _, query := range []string{"", "?buyer_id=ann"} {
		var told struct {
			Lines []struct {
				SKU     string
				History []struct{ Kind string }
			}
		}
		a := s.send("GET", "/v1/orders/o/history"+query, "")
		if err := json.Unmarshal([]byte(a.body), &told); err != nil || a.status != 200 {
			t.Fatal(a.status, a.body, err)
		}
		if got := fmt.Sprint(told.Lines); got != "[{a [{reserved} {committed}]} {b [{reserved} {cancelled}]}]" {
			t.Errorf("got %s", got)
		}
	}
	s.wantProblem(s.send("GET", "/v1/orders/o/history?buyer_id=bob", ""), 404, "unknown_order")
	s.wantProblem(s.send("GET", "/v1/orders/none/history", ""), 404, "unknown_order")
}
