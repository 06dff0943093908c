package migrations_test

import (
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

// dayAt is when a shop's day begins.
var dayAt = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// day plays everything that a shop does in a day, on SKUs of its own: plain is sold and changed in every way, limited has a
// buyer limit, and gone is archived, and most of it pruned.
type day struct {
	t     *testing.T
	store stock.Store
	n     int // which day it is
}

func (d day) sku(name string) string { return fmt.Sprint(name, "-", d.n) }

func (d day) play() {
	d.t.Helper()
	plain, limited, gone := d.sku("plain"), d.sku("limited"), d.sku("gone")
	for sku, terms := range map[string]stock.Terms{plain: {}, limited: {PerBuyerLimit: 40, MaxReserveFor: time.Hour}, gone: {PerBuyerLimit: 50}} {
		if _, err := d.store.CreateSKU(d.t.Context(), stock.NewSKU{SKU: sku, Name: "a thing", Stock: 100, Segments: 4, Terms: terms}, dayAt); err != nil {
			d.t.Fatal(err)
		}
		d.sells(sku)
	}
	d.changes(plain)
	d.changes(limited)
	whole := stock.Placement{At: dayAt, Order: stock.MultiOrder{OrderID: d.sku("whole"), BuyerID: "dora"}}
	for _, sku := range []string{gone, limited, plain} { // ascending
		whole.Order.Lines = append(whole.Order.Lines, stock.Line{SKU: sku, Quantity: 2})
		whole.Lines = append(whole.Lines, stock.PlacedLine{
			Batch: stock.Batch{Layout: d.view(sku).Layout, Limit: d.view(sku).Terms.PerBuyerLimit, Segment: -1},
		})
	}
	if _, created, err := d.store.Order(d.t.Context(), whole); err != nil || !created {
		d.t.Fatal(created, err)
	}
	if archived, err := d.store.Archive(d.t.Context(), gone, dayAt.Add(time.Hour)); err != nil || !archived {
		d.t.Fatal(archived, err)
	}
	pruned, err := d.store.Prune(d.t.Context(), stock.Pruning{SKU: gone, OrderIDs: []string{"a", "merged", "paid"}, Before: dayAt.Add(5 * time.Hour)})
	if err != nil || pruned.Deductions != 3 {
		d.t.Fatal(pruned, err)
	}
}

// sells takes from one segment and from all, reserves, commits, cancels, extends, gives parts back, and lets expire.
func (d day) sells(sku string) {
	d.t.Helper()
	view := d.view(sku)
	of := func(id string, units int64, reserve time.Duration) stock.Order {
		return stock.Order{OrderID: id, BuyerID: "buyer of " + id, Quantity: units, ReserveFor: reserve}
	}
	limit := view.Terms.PerBuyerLimit
	if _, err := d.store.Deduct(d.t.Context(), stock.Batch{SKU: sku, Layout: view.Layout, Limit: limit, At: dayAt, Orders: []stock.Order{
		of("a", 3, 0), of("paid", 2, time.Hour), of("paid in part", 3, time.Hour), of("waiting", 4, time.Hour), of("shrunk", 4, time.Hour), of("expired", 1, time.Minute),
		of("cancelled", 1, 0),
	}}); err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.store.Merge(d.t.Context(), stock.Batch{SKU: sku, Layout: view.Layout, Limit: limit, At: dayAt, Orders: []stock.Order{
		of("merged", 28, 0), of("merged and waiting", 28, time.Hour), of("given back", 19, 0),
	}}); err != nil {
		d.t.Fatal(err)
	}
	settled, err := d.store.Settle(d.t.Context(), stock.Settlement{SKU: sku, At: dayAt.Add(time.Second), Requests: []stock.SettleRequest{
		{OrderID: "paid"},
		{OrderID: "paid in part", Quantity: 2},
		{OrderID: "cancelled", Verb: stock.Return},
		{OrderID: "waiting", Ref: "longer", Verb: stock.Extend, ExtendFor: time.Hour},
		{OrderID: "shrunk", Ref: "less", Verb: stock.Cancel, Quantity: 1},
		{OrderID: "given back", Ref: "less", Verb: stock.Return, Quantity: 17},
		{OrderID: "merged", Ref: "broken", Verb: stock.Return, Quantity: 2, WriteOff: true},
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range settled {
		if s.Err != nil {
			d.t.Fatal(s.Err)
		}
	}
	if n, err := d.store.Expire(d.t.Context(), sku, dayAt.Add(2*time.Minute)); err != nil || n != 1 {
		d.t.Fatal(n, err)
	}
}

// changes restocks, counts anew, splits into more segments and into fewer, and changes the terms.
func (d day) changes(sku string) {
	d.t.Helper()
	for ref, m := range map[string]stock.Movement{
		"delivery": {Kind: stock.Restocked, Quantity: 50},
		"broken":   {Kind: stock.Adjusted, Quantity: -3},
		"more":     {Kind: stock.Resegmented, Segments: 6},
		"fewer":    {Kind: stock.Resegmented, Segments: 3},
		"named":    {Kind: stock.Retermed, Terms: stock.TermsChange{Name: stock.To("a hot thing")}},
	} {
		m.SKU, m.Ref, m.Reason, m.At = sku, ref, "the day's", dayAt.Add(time.Minute)
		if created, err := d.store.Move(d.t.Context(), m); err != nil || !created {
			d.t.Fatal(ref, created, err)
		}
	}
}

func (d day) view(sku string) stock.View {
	d.t.Helper()
	views, err := d.store.Views(d.t.Context(), sku)
	if err != nil {
		d.t.Fatal(err)
	}
	return views[sku]
}

// buys sells a unit of a SKU, as a worker does who has read it before, and reports whether it got it.
func (d day) buys(sku, id string) bool {
	d.t.Helper()
	view := d.view(sku)
	if !view.Terms.ArchivedAt.IsZero() {
		return false
	}
	result, err := d.store.Merge(d.t.Context(), stock.Batch{
		SKU: sku, Layout: view.Layout, Limit: view.Terms.PerBuyerLimit, SaleWindow: view.Terms.SaleWindow(), At: dayAt.Add(24 * time.Hour),
		Orders: []stock.Order{{OrderID: id, BuyerID: id, Quantity: 1}},
	})
	if err != nil {
		d.t.Fatalf("%s: %v", sku, err)
	}
	return result.Outcomes[0].Kind == stock.Accepted
}
