package selling_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestArchive archives a SKU at one service. The others sell none of it afterwards, and end what is reserved.
func TestArchive(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := w.processes(2)
		s, other := services[0], services[len(services)-1]
		w.create(s, 10, 2)
		known := stock.Order{OrderID: "a", Quantity: 2}
		kept := stock.Order{OrderID: "b", Quantity: 1, ReserveFor: time.Hour}
		w.mustTake(other, known)
		w.mustTake(other, kept)
		for range 2 {
			if status, err := s.Archive(t.Context(), sku); err != nil || status.ArchivedAt.IsZero() || status.Available != 7 {
				t.Fatalf("%+v, %v", status, err)
			}
		}
		for _, service := range services {
			w.refused(service, stock.Order{OrderID: "c", Quantity: 1}, stock.CodeSKUArchived)
			w.refused(service, stock.Order{OrderID: "d", Quantity: 8}, stock.CodeSKUArchived)
			w.mustTake(service, known)
			if _, _, err := service.Order(t.Context(), multi("m", sku)); stock.CodeOf(err) != stock.CodeSKUArchived {
				t.Errorf("an order of several SKUs: %v, want %s", err, stock.CodeSKUArchived)
			}
			for _, m := range []stock.Movement{
				{Kind: stock.Restocked, Quantity: 1},
				{Kind: stock.Adjusted, Quantity: -1, Reason: "lost"},
				{Kind: stock.Resegmented, Segments: 3},
				{Kind: stock.Retermed, Terms: stock.TermsChange{Name: stock.To("b")}},
			} {
				m.SKU, m.Ref = sku, "r"
				if _, err := service.Move(t.Context(), m); stock.CodeOf(err) != stock.CodeSKUArchived {
					t.Errorf("%+v: %v, want %s", m, err, stock.CodeSKUArchived)
				}
			}
		}
		if d, err := other.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "b"}, false); err != nil || d.Status != stock.StatusCommitted {
			t.Errorf("commit: %+v, %v", d, err)
		}
		if d, err := other.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "a", Verb: stock.Return}, false); err != nil || d.Status != stock.StatusReturned {
			t.Errorf("return: %+v, %v", d, err)
		}
		if _, err := s.Archive(t.Context(), "none"); stock.CodeOf(err) != stock.CodeUnknownSKU {
			t.Errorf("of no SKU: %v, want %s", err, stock.CodeUnknownSKU)
		}
	})
}

// TestArchiveOfWhatIsSoldOut: a process whose sold-out cache has the SKU soon answers that it is archived.
func TestArchiveOfWhatIsSoldOut(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := w.processes(2)
		s, other := services[0], services[len(services)-1]
		w.create(s, 4, 2)
		w.mustTake(other, stock.Order{OrderID: "a", Quantity: 4})
		for n := range 20 {
			w.refused(other, stock.Order{OrderID: fmt.Sprint("n-", n), Quantity: 1}, stock.CodeSoldOut)
		}
		if _, err := s.Archive(t.Context(), sku); err != nil {
			t.Fatal(err)
		}
		n := 0
		busytest.Soon(t, "the SKU is known to be archived", func() bool {
			n++
			_, err := w.ask(other, stock.Order{OrderID: fmt.Sprint("late-", n), Quantity: 1})
			if code := stock.CodeOf(err); code != stock.CodeSKUArchived && code != stock.CodeSoldOut {
				t.Fatalf("an order was told %v", err)
			}
			return stock.CodeOf(err) == stock.CodeSKUArchived
		})
	})
}

// TestArchiveAmidASale: of the orders that race with it, each is filled before it or refused. Orders after the answer
// are refused.
func TestArchiveAmidASale(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := w.processes(2)
		w.create(services[0], 1_000_000, 4)
		archived := make(chan struct{})
		var sold sync.Map
		var buyers, begun sync.WaitGroup
		for b := range 16 {
			begun.Add(1)
			buyers.Go(func() {
				begin := sync.OnceFunc(begun.Done)
				defer begin()
				for n := 0; ; n++ {
					over := false
					select {
					case <-archived:
						over = true
					default:
					}
					o := stock.Order{OrderID: fmt.Sprintf("b-%d-%d", b, n), Quantity: int64(1 + b%3)}
					_, _, err := services[b%len(services)].Deduct(t.Context(), sku, o)
					if n == 10 {
						begin()
					}
					time.Sleep(time.Duration(1+b) * time.Millisecond / 8)
					switch code := stock.CodeOf(err); {
					case err == nil && !over:
						sold.Store(o.OrderID, o.Quantity)
					case code == stock.CodeSKUArchived:
						return
					default:
						t.Errorf("%s, asked after the answer %v: %v", o.OrderID, over, err)
						return
					}
				}
			})
		}
		begun.Wait()
		status, err := services[0].Archive(t.Context(), sku)
		close(archived)
		buyers.Wait()
		var units int64
		sold.Range(func(_, quantity any) bool {
			units += quantity.(int64)
			return true
		})
		if err != nil || status.Committed != units {
			t.Errorf("%+v, %v: %d units sold", status, err, units)
		}
	})
}
