package selling_test

import (
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestASaleEndsWhileOrdersWait: a change, and a new order, that were looked at before the end of a sale and are decided after it by the store's
// own clock, take nothing. The sale gets its end when the first orders have been taken, however long that took.
func TestASaleEndsWhileOrdersWait(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 20, 2)
		if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "short", Stock: 20, Segments: 2}); err != nil {
			t.Fatal(err)
		}
		all := []stock.Line{{SKU: sku, Quantity: 1}, {SKU: "short", Quantity: 1}}
		for _, o := range []stock.MultiOrder{{OrderID: "grows", Lines: all}, {OrderID: "is added", Lines: all[:1]}} {
			if _, _, err := s.Order(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		_, now := w.store.Clock("short")
		ends := now.Add(50 * time.Millisecond).Truncate(time.Microsecond)
		end := stock.Movement{SKU: "short", Ref: "end", Kind: stock.Retermed, Terms: stock.TermsChange{SaleEndsAt: stock.To(ends)}}
		if _, err := s.Move(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		views, err := w.store.Views(t.Context(), sku, "short")
		if err != nil {
			t.Fatal(err)
		}
		var looked []stock.Revision
		for id, was := range map[string]int64{"grows": 1, "is added": 0} {
			there, err := w.store.PlacedOrder(t.Context(), id)
			if err != nil || there == nil {
				t.Fatalf("%s: %+v, %v", id, there, err)
			}
			r := stock.Revision{Order: *there, Change: stock.OrderChange{OrderID: id, Ref: "a", Lines: []stock.Line{{SKU: sku, Quantity: 1}, {SKU: "short", Quantity: 3}}}}
			for i, name := range []string{sku, "short"} {
				view := views[name]
				r.Lines = append(r.Lines, stock.RevisedLine{Was: []int64{1, was}[i], Levels: view.Segments, Batch: stock.Batch{
					SKU: name, Layout: view.Layout, Segment: stock.AllSegments, SaleWindow: view.Terms.SaleWindow(),
				}})
			}
			looked = append(looked, r)
		}
		for now, _ := w.store.Clock("short"); now.Before(ends); now, _ = w.store.Clock("short") {
			time.Sleep(time.Millisecond)
			if _, err := w.store.Views(t.Context(), "short"); err != nil { // it reads the store's clock
				t.Fatal(err)
			}
		}
		for _, r := range looked {
			if _, err := w.store.ChangeOrder(t.Context(), r); stock.CodeOf(err) != stock.CodeSaleClosed {
				t.Errorf("%s: %v, want %s", r.Change.OrderID, err, stock.CodeSaleClosed)
			}
		}
		late := stock.Placement{Order: stock.MultiOrder{OrderID: "late", Lines: all}}
		for _, line := range looked[0].Lines {
			late.Lines = append(late.Lines, stock.PlacedLine{Batch: line.Batch})
		}
		if there, _, err := w.store.Order(t.Context(), late); stock.CodeOf(err) != stock.CodeSaleClosed {
			t.Errorf("a new order: %+v, %v, want %s", there, err, stock.CodeSaleClosed)
		}
		if audit, err := s.Audit(t.Context(), ""); err != nil || !audit.OK() {
			t.Errorf("%+v, %v", audit, err)
		}
	})
}
